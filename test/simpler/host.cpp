// SPDX-License-Identifier: Apache-2.0
// Runs an orchestration and kernels, shared objects in files, through the host side of the chip
// runtime, and compares with what must come out:
//
//     host CASE march|april ORCHESTRATION.so FUNCTION CLUSTERS ID=KERNEL.so…
#include "pto_runtime_c_api.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tern/comm.h"
#include "tern/status.h"
#include "tern/window.h"

namespace
{

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

[[noreturn]] void die(const std::string &sentence)
{
    std::fprintf(stderr, "host: %s\n", sentence.c_str());
    std::exit(1);
}

void expect(bool holds, const std::string &sentence)
{
    if (!holds) {
        die(sentence);
    }
}

Bytes read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    expect(file.good(), "cannot read " + path);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

struct Argument {
    Floats *data;
    int direction;
    std::vector<uint32_t> shapes;
};

struct Program {
    bool april;
    Bytes orchestration;
    const char *function;
    int clusters;
    std::vector<int> ids;
    std::vector<Bytes> kernels;
    std::vector<uint64_t> scalars; // of April
    int launches = 1;
    tern_comm *comm = nullptr;
    bool on_device = false; // April's second tensor is there already

    // What init or launch returned; outputs are in the arguments' memory when it is 0.
    int run(std::vector<Argument> arguments)
    {
        std::vector<const uint8_t *> starts;
        std::vector<size_t> sizes;
        for (const Bytes &kernel : kernels) {
            starts.push_back(kernel.data());
            sizes.push_back(kernel.size());
        }
        std::vector<uint64_t> storage(get_runtime_size() / 8 + 1);
        RuntimeHandle handle = storage.data();
        int status = april ? init_april(handle, arguments, starts, sizes)
                           : init_march(handle, arguments, starts, sizes);
        if (status != 0) {
            return status;
        }
        expect(set_device(0) == 0, "set_device");
        for (int i = 0; i < launches && status == 0; i++) {
            status = launch_runtime(handle, 4 - i % 4,
                                    i % 2 == 1 && clusters > 1 ? clusters - 1 : clusters, 0,
                                    nullptr, 0, nullptr, 0, 1);
        }
        int ended = finalize_runtime(handle);
        return status != 0 ? status : ended;
    }

  private:
    int init_march(RuntimeHandle handle, const std::vector<Argument> &arguments,
                   const std::vector<const uint8_t *> &starts, const std::vector<size_t> &sizes)
    {
        std::vector<uint64_t> values, bytes;
        std::vector<int> types;
        for (const Argument &argument : arguments) {
            values.push_back(reinterpret_cast<uint64_t>(argument.data->data()));
            bytes.push_back(argument.data->size() * sizeof(float));
            types.push_back(argument.direction);
        }
        for (size_t i = 0; i < arguments.size(); i++) {
            values.push_back(bytes[i]);
        }
        values.push_back(arguments[0].data->size());
        bytes.resize(values.size());
        types.resize(values.size());
        return init_runtime(handle, orchestration.data(), orchestration.size(), function,
                            values.data(), static_cast<int>(values.size()), types.data(),
                            bytes.data(), ids.data(), starts.data(), sizes.data(),
                            static_cast<int>(ids.size()));
    }

    int init_april(RuntimeHandle handle, const std::vector<Argument> &arguments,
                   const std::vector<const uint8_t *> &starts, const std::vector<size_t> &sizes)
    {
        ChipStorageTaskArgs args = {};
        std::vector<int> directions;
        for (const Argument &argument : arguments) {
            ContinuousTensor tensor = {};
            tensor.data = reinterpret_cast<uint64_t>(argument.data->data());
            tensor.ndims = static_cast<uint32_t>(argument.shapes.size());
            std::copy(argument.shapes.begin(), argument.shapes.end(), tensor.shapes);
            expect(tensor.nbytes() == argument.data->size() * sizeof(float), "the shapes");
            if (on_device && args.tensor_count() == 1) {
                size_t size = tensor.nbytes();
                void *device = device_malloc(size);
                expect(copy_to_device(device, argument.data->data(), size) == 0, "a copy");
                std::fill(argument.data->begin(), argument.data->end(), 0.0f);
                expect(copy_from_device(argument.data->data(), device, size) == 0, "and back");
                tensor.data = reinterpret_cast<uint64_t>(device);
                tensor.child_memory = 1;
            }
            args.add_tensor(tensor);
            directions.push_back(argument.direction);
        }
        for (uint64_t scalar : scalars) {
            args.add_scalar(scalar);
        }
        tern_simpler_program program = {};
        program.orchestration = orchestration.data();
        program.orchestration_size = orchestration.size();
        program.function_name = function;
        program.kernel_ids = ids.data();
        program.kernels = starts.data();
        program.kernel_sizes = sizes.data();
        program.comm = comm;
        program.kernel_count = static_cast<int>(ids.size());
        return tern_simpler_init(handle, &program, &args, directions.data());
    }
};

constexpr int in = TERN_SIMPLER_ARG_INPUT_PTR;
constexpr int out = TERN_SIMPLER_ARG_OUTPUT_PTR;
constexpr int inout = TERN_SIMPLER_ARG_INOUT_PTR;

void expect_all(const Floats &seen, const Floats &wanted, double tolerance, const char *name)
{
    expect(seen.size() == wanted.size(), std::string(name) + ": its size");
    for (size_t i = 0; i < seen.size(); i++) {
        if (!(std::fabs(double(seen[i]) - wanted[i]) <= tolerance)) {
            die(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(seen[i]) +
                ", not " + std::to_string(wanted[i]));
        }
    }
}

Floats random_floats(size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats result(count);
    for (float &one : result) {
        one = 0.01f * normal(random);
    }
    return result;
}

// c += a @ b, n x n each.
void multiply(const float *a, const float *b, float *c, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < n; j++) {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

void vector_case(Program &program, float wanted)
{
    constexpr uint32_t count = 16384;
    Floats a(count, 2), b(count, 3), f(count);
    int status = program.run({{&a, in, {count}}, {&b, in, {count}}, {&f, out, {count}}});
    expect(status == 0, "vector: status " + std::to_string(status));
    expect_all(f, Floats(count, wanted), 0, "f");
}

void scalar_case(Program &program)
{
    constexpr uint32_t count = 16384;
    Floats a(count, 2), b(count), result(count), check(16), sum(count);
    for (uint32_t i = 0; i < count; i++) {
        b[i] = float(i);
        sum[i] = a[i] + b[i];
    }
    int status = program.run(
        {{&a, in, {count}}, {&b, in, {count}}, {&result, out, {count}}, {&check, inout, {16}}});
    expect(status == 0, "scalar_data: status " + std::to_string(status));
    check.resize(9);
    expect_all(check, {2, 102, 77, 77, 79, 42, 12, 88, 55}, 0, "check");
    expect_all(result, sum, 0, "result");
}

void bgemm_case(Program &program)
{
    constexpr int grid = 4, side = 64, tile = side * side;
    constexpr uint32_t tiles = grid * grid;
    Floats a = random_floats(tiles * tile, 1), b = random_floats(tiles * tile, 2);
    Floats c(tiles * tile), wanted(tiles * tile);
    for (int m = 0; m < grid; m++) {
        for (int n = 0; n < grid; n++) {
            for (int k = 0; k < grid; k++) {
                multiply(&a[(m * grid + k) * tile], &b[(k * grid + n) * tile],
                         &wanted[(m * grid + n) * tile], side);
            }
        }
    }
    int status =
        program.run({{&a, in, {tiles, tile}}, {&b, in, {tiles, tile}}, {&c, inout, {tiles, tile}}});
    expect(status == 0, "bgemm: status " + std::to_string(status));
    expect_all(c, wanted, 1e-5, "C");
}

void alternating_case(Program &program)
{
    constexpr uint32_t side = 128, batch = 6;
    constexpr size_t count = batch * side * side;
    Floats a = random_floats(count, 3), b = random_floats(count, 4);
    Floats x = random_floats(count, 5), y = random_floats(count, 6);
    Floats c(count), z(count), product(count), sum(count);
    for (size_t i = 0; i < batch; i++) {
        multiply(&a[i * side * side], &b[i * side * side], &product[i * side * side], side);
    }
    for (size_t i = 0; i < count; i++) {
        sum[i] = x[i] + y[i];
    }
    std::vector<uint32_t> shapes = {batch, side, side};
    int status = program.run({{&a, in, shapes},
                              {&b, in, shapes},
                              {&x, in, shapes},
                              {&y, in, shapes},
                              {&c, out, shapes},
                              {&z, out, shapes}});
    expect(status == 0, "alternating: status " + std::to_string(status));
    expect_all(c, product, 1e-5, "C");
    expect_all(z, sum, 0, "Z");
}

void mixed_case(Program &program)
{
    constexpr uint32_t side = 128;
    constexpr size_t count = side * side;
    std::vector<Floats> inputs, outputs(9, Floats(count));
    Floats matmul(count), add(count), mul(count);
    for (unsigned i = 0; i < 6; i++) {
        inputs.push_back(random_floats(count, 7 + i));
    }
    multiply(inputs[0].data(), inputs[1].data(), matmul.data(), side);
    for (size_t i = 0; i < count; i++) {
        add[i] = inputs[2][i] + inputs[3][i];
        mul[i] = inputs[4][i] * inputs[5][i];
    }
    std::vector<Argument> arguments;
    for (Floats &one : inputs) {
        arguments.push_back({&one, in, {side, side}});
    }
    for (Floats &one : outputs) {
        arguments.push_back({&one, out, {side, side}});
    }
    int status = program.run(arguments);
    expect(status == 0, "mixed: status " + std::to_string(status));
    const Floats *wanted[] = {&matmul, &add, &mul, &matmul, &add, &add, &mul, &matmul, &add};
    for (size_t i = 0; i < outputs.size(); i++) {
        expect_all(outputs[i], *wanted[i], 1e-5, std::string(1, "CFIJKLMNO"[i]).c_str());
    }
}

void blocks_case(Program &program)
{
    alignas(64) static uint32_t counter[16];
    constexpr uint32_t lines = 6 + 13;
    Floats out_lines(lines * 16), first(16), second(16), wanted(lines * 16);
    for (uint32_t block = 0; block < 2; block++) {
        for (uint32_t slot = 0; slot < 3; slot++) {
            float *line = &wanted[(3 * block + slot) * 16];
            line[0] = float(block);
            line[1] = 2;
            line[2] = slot == 2 ? 1 : 0;
        }
    }
    for (uint32_t block = 0; block < 5; block++) {
        wanted[(6 + 3 * block) * 16] = float(block);
        wanted[(6 + 3 * block) * 16 + 1] = 5;
    }
    program.scalars = {reinterpret_cast<uint64_t>(&counter)};
    int status = program.run(
        {{&out_lines, inout, {lines, 16}}, {&first, inout, {16}}, {&second, inout, {16}}});
    expect(status == 0, "blocks: status " + std::to_string(status));
    expect_all(out_lines, wanted, 0, "lines");
    expect(first[0] == 5, "a task that completes later: " + std::to_string(first[0]));
}

// The same by each of seven ways.
void pipes_case(Program &program)
{
    constexpr uint32_t side = 64, steps = 5, blocks = 3, ways = 7;
    constexpr size_t tile = side * side, tiles = blocks * steps;
    Floats a = random_floats(tiles * tile, 21), b = random_floats(tile, 22);
    Floats d = random_floats(tile, 23), products(ways * tiles * tile), wanted(ways * tiles * tile);
    Floats workspace(blocks * 2 * steps * tile);
    for (size_t i = 0; i < tiles; i++) {
        Floats product(tile);
        multiply(&a[i * tile], b.data(), product.data(), side);
        for (float &one : product) {
            one *= 2;
        }
        multiply(product.data(), d.data(), &wanted[i * tile], side);
    }
    for (size_t way = 1; way < ways; way++) {
        std::copy_n(wanted.begin(), tiles * tile, wanted.begin() + way * tiles * tile);
    }
    int status = program.run({{&a, in, {tiles, side, side}},
                              {&b, in, {side, side}},
                              {&d, in, {side, side}},
                              {&products, inout, {ways * tiles, side, side}},
                              {&workspace, inout, {blocks * 2 * steps, side, side}}});
    expect(status == 0, "pipes: status " + std::to_string(status));
    expect_all(products, wanted, 1e-4, "out");
}

void order_case(Program &program)
{
    Floats x(16), y(16), z(16);
    int status = program.run({{&x, in, {16}}, {&y, out, {16}}, {&z, inout, {16}}});
    expect(status == 0, "order: status " + std::to_string(status));
    expect(y[0] == 1, "y: " + std::to_string(y[0]));
    expect(z[0] == 1, "z: " + std::to_string(z[0]));
}

void predicate_case(Program &program)
{
    Floats x(16), y(16), z(16, 5.0f);
    int status = program.run({{&x, inout, {16}}, {&y, inout, {16}}, {&z, inout, {16}}});
    expect(status == 0, "predicate: status " + std::to_string(status));
    expect(y[0] == 1, "where it holds: " + std::to_string(y[0]));
    expect(z[0] == 5, "where it does not: " + std::to_string(z[0]));
}

void counts_case(Program &program)
{
    Floats x(16), y(16), z(16);
    int status = program.run({{&x, in, {16}}, {&y, inout, {16}}, {&z, inout, {16}}});
    expect(status == 0, "counts: status " + std::to_string(status));
    expect(y[0] == float(program.clusters), "clusters: " + std::to_string(y[0]));
    expect(z[0] == float(2 * program.clusters), "AIV cores: " + std::to_string(z[0]));
}

void peers_case(Program &program)
{
    tern_window *window = nullptr;
    Floats result(16);
    expect(tern_init(nullptr, &program.comm) == 0, tern_last_error());
    int rank = tern_comm_rank(program.comm);
    expect(tern_window_create(program.comm, 4096, nullptr, &window) == 0, tern_last_error());
    for (int one : {rank, 1 - rank}) {
        program.scalars.push_back(reinterpret_cast<uint64_t>(tern_window_address(window, one)));
    }
    int status = program.run({{&result, out, {16}}});
    expect(status == 0, "peers: status " + std::to_string(status));
    expect(result[0] == 5, "what the peer stored: " + std::to_string(result[0]));
    tern_window_destroy(window);
    tern_comm_destroy(program.comm);
}

// Each way of giving up, and what the host gets.
void wrong_case(Program &program)
{
    Floats a(64);
    for (auto [way, wanted] :
         std::map<uint64_t, int>{{0, -9}, {1, -5}, {2, -5}, {3, -5}, {4, -5}}) {
        program.scalars = {way};
        int status = program.run({{&a, in, {64}}});
        expect(status == wanted, "way " + std::to_string(way) + ": status " +
                                     std::to_string(status) + ", not " + std::to_string(wanted));
    }
}

// The code is told by the environment.
void fatal_case(Program &program)
{
    Floats a(128);
    int code = std::atoi(std::getenv("WANTED_CODE"));
    const char *how = std::getenv("WANTED_HOW"); // where one code has several ways
    program.scalars = {how != nullptr ? std::strtoull(how, nullptr, 10)
                                      : static_cast<uint64_t>(code)};
    int status = program.run({{&a, inout, {128}}});
    expect(status == -code, "status " + std::to_string(status) + ", not " + std::to_string(-code));
}

void unknown_kernel_case(Program &program)
{
    Floats a(64);
    int status = program.run({{&a, in, {64}}});
    expect(status == TERN_SIMPLER_FAILED + TERN_ERR_KERNEL, "status " + std::to_string(status));
    expect(std::strstr(tern_last_error(), "no kernel has the id 77") != nullptr, tern_last_error());
}

void refused_case(Program &program)
{
    Floats a(16384), b(16384), f(16384);
    int status = program.run({{&a, in, {16384}}, {&b, in, {16384}}, {&f, out, {16384}}});
    expect(status == TERN_SIMPLER_FAILED + TERN_ERR_KERNEL, "status " + std::to_string(status));
}

} // namespace

int main(int argc, char **argv)
{
    expect(argc >= 6, "five arguments and more");
    Program program = {std::strcmp(argv[2], "april") == 0,
                       read_file(argv[3]),
                       std::strcmp(argv[4], "-") == 0 ? nullptr : argv[4],
                       std::atoi(argv[5]),
                       {},
                       {},
                       {}};
    for (int i = 6; i < argc; i++) {
        const char *path = std::strchr(argv[i], '=');
        expect(path != nullptr, argv[i]);
        program.ids.push_back(std::atoi(argv[i]));
        program.kernels.push_back(read_file(path + 1));
    }
    const std::map<std::string, std::function<void()>> cases = {
        {"vector42", [&] { vector_case(program, 42); }},
        {"vector5", [&] { vector_case(program, 5); }},
        {"vector47", [&] { vector_case(program, 47); }},
        {"vector47on_device",
         [&] {
             program.on_device = true;
             vector_case(program, 47);
         }},
        {"vector47twice",
         [&] {
             program.launches = 2;
             vector_case(program, 47);
         }},
        {"vector42twice",
         [&] {
             program.launches = 2;
             vector_case(program, 42);
         }},
        {"scalar_data", [&] { scalar_case(program); }},
        {"bgemm", [&] { bgemm_case(program); }},
        {"alternating", [&] { alternating_case(program); }},
        {"mixed", [&] { mixed_case(program); }},
        {"pipes", [&] { pipes_case(program); }},
        {"blocks", [&] { blocks_case(program); }},
        {"order", [&] { order_case(program); }},
        {"predicate", [&] { predicate_case(program); }},
        {"counts", [&] { counts_case(program); }},
        {"peers", [&] { peers_case(program); }},
        {"wrong", [&] { wrong_case(program); }},
        {"fatal", [&] { fatal_case(program); }},
        {"refused", [&] { refused_case(program); }},
        {"unknown_kernel", [&] { unknown_kernel_case(program); }},
    };
    auto found = cases.find(argv[1]);
    expect(found != cases.end(), std::string("no case ") + argv[1]);
    found->second();
    std::printf("%s: right\n", argv[1]);
    return 0;
}
