// SPDX-License-Identifier: Apache-2.0
// Tensors of the chip runtime: a buffer, and which of its elements. Orchestrations name memory by
// them, and kernels find their addresses among their arguments. The layout is that of a
// tern_region, and so are the results: row-major strides, views that stick out nowhere, reshapes of
// what is contiguous. What cannot be has 0 dimensions, and a submit refuses it (INVALID_ARGS).
#ifndef TERN_FACES_SIMPLER_TERN_TENSOR_HPP
#define TERN_FACES_SIMPLER_TERN_TENSOR_HPP

#include <utility>

#include "simpler/tern/tasks.h"

#define RUNTIME_MAX_TENSOR_DIMS TERN_REGION_DIMS_MAX

struct PTOBufferHandle {
    uint64_t addr;
    uint64_t size; // bytes
};

struct alignas(64) Tensor {
    PTOBufferHandle buffer;
    PTO2TaskId owner_task_id;
    uint64_t start_offset; // elements, from the buffer's beginning
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    bool is_all_offset_zero;
    bool is_raw_eq_shapes;
    bool manual_dep;
    uint32_t shapes[TERN_REGION_DIMS_MAX];
    uint32_t raw_shapes[TERN_REGION_DIMS_MAX];
    uint32_t offsets[TERN_REGION_DIMS_MAX];
    uint32_t strides[TERN_REGION_DIMS_MAX];
    uint32_t unused;

    uint64_t numel() const
    {
        uint64_t count = ndims > 0 ? 1 : 0;
        for (uint32_t d = 0; d < ndims; d++) {
            count *= shapes[d];
        }
        return count;
    }

    bool is_contiguous() const
    {
        uint64_t stride = 1;
        for (uint32_t d = ndims; d-- > 0; stride *= shapes[d]) {
            if (shapes[d] != 1 && strides[d] != stride) {
                return false;
            }
        }
        return true;
    }

    bool is_same_memref(const Tensor &other) const
    {
        return buffer.addr == other.buffer.addr;
    }

    // The part that begins at `part_offsets`; both arrays have ndims entries.
    Tensor view(const uint32_t part_shapes[], const uint32_t part_offsets[],
                bool no_dependences = false) const
    {
        Tensor part = *this;
        part.manual_dep = manual_dep || no_dependences;
        for (uint32_t d = 0; d < ndims; d++) {
            uint64_t end = uint64_t{part_offsets[d]} + part_shapes[d];
            if (end > shapes[d]) {
                part.ndims = 0;
                return part;
            }
            part.shapes[d] = part_shapes[d];
            part.offsets[d] += part_offsets[d];
            part.start_offset += uint64_t{part_offsets[d]} * strides[d];
        }
        part.tern_note();
        return part;
    }

    // The same elements in the same order.
    Tensor reshape(const uint32_t new_shapes[], uint32_t count) const
    {
        Tensor result = *this;
        bool fits =
            is_contiguous() && result.tern_shape(new_shapes, count) && result.numel() == numel();
        result.ndims = fits ? count : 0;
        return result;
    }

    // With two dimensions exchanged.
    Tensor transpose(uint32_t x, uint32_t y) const
    {
        Tensor result = *this;
        if (x >= ndims || y >= ndims) {
            result.ndims = 0;
            return result;
        }
        std::swap(result.shapes[x], result.shapes[y]);
        std::swap(result.raw_shapes[x], result.raw_shapes[y]);
        std::swap(result.offsets[x], result.offsets[y]);
        std::swap(result.strides[x], result.strides[y]);
        return result;
    }

    // A whole buffer.
    static Tensor tern_make(const void *address, const uint32_t given[], uint32_t count,
                            DataType type, int32_t number, bool no_dependences)
    {
        Tensor made;
        bool fits = made.tern_shape(given, count);
        made.dtype = type;
        made.ndims = fits ? count : 0;
        made.version = number;
        made.manual_dep = no_dependences;
        made.start_offset = 0;
        made.unused = 0;
        made.buffer.addr = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
        made.buffer.size = made.numel() * get_element_size(type);
        return made;
    }

  private:
    // What the offsets and shapes say in short.
    void tern_note()
    {
        is_all_offset_zero = true;
        is_raw_eq_shapes = true;
        for (uint32_t d = 0; d < ndims; d++) {
            is_all_offset_zero = is_all_offset_zero && offsets[d] == 0;
            is_raw_eq_shapes = is_raw_eq_shapes && shapes[d] == raw_shapes[d];
        }
    }

    // Whole and row-major. False: so many dimensions or elements are not possible.
    bool tern_shape(const uint32_t given[], uint32_t count)
    {
        uint64_t elements = 1;
        bool fits = count >= 1 && count <= TERN_REGION_DIMS_MAX;
        for (uint32_t d = TERN_REGION_DIMS_MAX; d-- > 0;) {
            bool used = fits && d < count;
            shapes[d] = used ? given[d] : 0;
            raw_shapes[d] = shapes[d];
            offsets[d] = 0;
            strides[d] = used ? static_cast<uint32_t>(elements) : 0;
            elements *= used ? shapes[d] : 1;
            fits = fits && elements <= UINT32_MAX;
        }
        ndims = count;
        is_all_offset_zero = true;
        is_raw_eq_shapes = true;
        return fits;
    }
};

static_assert(sizeof(Tensor) == 128 && alignof(Tensor) == 64 &&
                  sizeof(tern_region) == sizeof(Tensor),
              "the layout of April 2026");
#define TERN_SIMPLER_SAME(member, field)                                                           \
    static_assert(offsetof(Tensor, member) == offsetof(tern_region, field),                        \
                  "a Tensor is a tern_region by other names")
TERN_SIMPLER_SAME(buffer.addr, address);
TERN_SIMPLER_SAME(buffer.size, buffer_bytes);
TERN_SIMPLER_SAME(owner_task_id, owner);
TERN_SIMPLER_SAME(start_offset, start);
TERN_SIMPLER_SAME(version, version);
TERN_SIMPLER_SAME(ndims, ndims);
TERN_SIMPLER_SAME(dtype, dtype);
TERN_SIMPLER_SAME(is_all_offset_zero, all_offsets_zero);
TERN_SIMPLER_SAME(is_raw_eq_shapes, whole);
TERN_SIMPLER_SAME(manual_dep, no_dependences);
TERN_SIMPLER_SAME(shapes, shape);
TERN_SIMPLER_SAME(raw_shapes, raw_shape);
TERN_SIMPLER_SAME(offsets, offset);
TERN_SIMPLER_SAME(strides, stride);
#undef TERN_SIMPLER_SAME

#endif
