// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sums of the features of all neighbours in a graph, over several hops: gather, then scatter. An
// edge (a, b) carries the features of node a to node b. Each sum is taken in the order of the
// edges, so that the result has the bits of a plain loop, on a GPU too, in every run.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <gpukern/gpukern.hpp>
#include <iostream>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using gpukern::DeviceBuffer;

constexpr int kHops = 3;
constexpr std::int64_t kNodes = 500;
constexpr std::int64_t kFeatures = 16;
constexpr std::size_t kEdges = 4000;

struct Graph {
  std::vector<std::int64_t> start, end;
  std::vector<float> features;  ///< of kNodes nodes, kFeatures each
};

Graph random_graph() {
  std::mt19937 random{1};
  std::uniform_int_distribution<std::int64_t> node(0, kNodes - 1);
  std::normal_distribution<float> feature;
  Graph graph;
  for (std::size_t e = 0; e < kEdges; ++e) {
    graph.start.push_back(node(random));
    graph.end.push_back(node(random));
  }
  for (std::int64_t i = 0; i < kNodes * kFeatures; ++i) graph.features.push_back(feature(random));
  return graph;
}

std::vector<float> by_a_loop(const Graph& graph) {
  std::vector<float> features = graph.features;
  for (int hop = 0; hop < kHops; ++hop) {
    std::vector<float> sums(features.size());
    for (std::size_t e = 0; e < kEdges; ++e)
      for (std::int64_t f = 0; f < kFeatures; ++f)
        sums[static_cast<std::size_t>(graph.end[e] * kFeatures + f)] +=
            features[static_cast<std::size_t>(graph.start[e] * kFeatures + f)];
    features = sums;
  }
  return features;
}

/// The buffers are on one device, whose memory the hops reuse.
std::vector<float> by_gpukern(const Graph& graph, gpukern::Device device) {
  const std::vector<float> zeros(graph.features.size());
  DeviceBuffer<std::int64_t> start(kEdges, device);
  DeviceBuffer<std::int64_t> end(kEdges, device);
  DeviceBuffer<float> features(zeros.size(), device);
  DeviceBuffer<float> messages(kEdges * kFeatures, device);
  start.copy_from(graph.start);
  end.copy_from(graph.end);
  features.copy_from(graph.features);
  const auto rows = features.shaped({kNodes, kFeatures});
  const auto sent = messages.shaped({static_cast<std::int64_t>(kEdges), kFeatures});
  for (int hop = 0; hop < kHops; ++hop) {
    gpukern::gather(rows, start, sent);
    features.copy_from(zeros);
    gpukern::scatter(rows, end, sent, {.reduce = gpukern::Reduction::add});
  }
  std::vector<float> result(zeros.size());
  features.copy_to(result);
  return result;
}

void check(const std::vector<float>& result, const std::vector<float>& expected) {
  if (result != expected) throw std::runtime_error("graph_features: wrong result");
  std::cout << "  " << kHops << " hops over " << kEdges << " edges: as a plain loop\n";
}

void run() {
  const Graph graph = random_graph();
  const std::vector<float> expected = by_a_loop(graph);
  std::cout << "CPU:\n";
  check(by_gpukern(graph, gpukern::kCpu), expected);
  for (std::int32_t id = 0; id < gpukern::cuda_info().device_count; ++id) {
    std::cout << "GPU " << id << ", " << gpukern::device_info(id).name << ":\n";
    check(by_gpukern(graph, gpukern::cuda_device(id)), expected);
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
