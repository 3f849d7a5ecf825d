// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"

#include <stdexcept>

namespace tern_torch
{

void refuse(const char *name, const std::string &reason)
{
    throw std::invalid_argument(std::string("tern: ") + name + ": " + reason);
}

void check_tensor(const char *name, const at::Tensor &tensor)
{
    if (!tensor.defined()) {
        refuse(name, "the tensor is undefined");
    }
    if (!tensor.device().is_cpu()) {
        refuse(name, "the tensor is on " + tensor.device().str() +
                         "; tern moves tensors of the CPU only");
    }
    if (tensor.layout() != at::kStrided) {
        refuse(name, "the tensor is not dense");
    }
}

void check_same_type(const char *name, const at::Tensor &tensor, const at::Tensor &other)
{
    check_tensor(name, tensor);
    if (tensor.scalar_type() != other.scalar_type()) {
        refuse(name, std::string("the tensors have different dtypes: ") +
                         toString(other.scalar_type()) + " and " + toString(tensor.scalar_type()));
    }
}

namespace
{

// Types that tern has sums of; false for others.
bool number_of(at::ScalarType type, tern_dtype *dtype)
{
    switch (type) {
    case at::kByte:
        return *dtype = TERN_U8, true;
    case at::kChar:
        return *dtype = TERN_I8, true;
    case at::kShort:
        return *dtype = TERN_I16, true;
    case at::kInt:
        return *dtype = TERN_I32, true;
    case at::kLong:
        return *dtype = TERN_I64, true;
    case at::kHalf:
        return *dtype = TERN_F16, true;
    case at::kBFloat16:
        return *dtype = TERN_BF16, true;
    case at::kFloat:
        return *dtype = TERN_F32, true;
    case at::kDouble:
        return *dtype = TERN_F64, true;
    default:
        return false;
    }
}

// By their parts: the sums of these are sums of pairs.
bool complex_of(at::ScalarType type, tern_dtype *part)
{
    switch (type) {
    case at::kComplexHalf:
        return *part = TERN_F16, true;
    case at::kComplexFloat:
        return *part = TERN_F32, true;
    case at::kComplexDouble:
        return *part = TERN_F64, true;
    default:
        return false;
    }
}

// Types that tern only moves, where this libtern has them: so that ranks that disagree are told.
bool moved_of(at::ScalarType type, tern_dtype *dtype)
{
    const char *word = type == at::kBool            ? "bool"
                       : type == at::kComplexFloat  ? "c64"
                       : type == at::kComplexDouble ? "c128"
                                                    : nullptr;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    word = type == at::kFloat8_e4m3fn ? "f8e4m3" : type == at::kFloat8_e5m2 ? "f8e5m2" : word;
#endif
    return word != nullptr && tern_dtype_parse(word, dtype) == TERN_OK;
}

tern_reduce_op op_of(const c10d::ReduceOp &op)
{
    switch ((c10d::ReduceOp::RedOpType)op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::PREMUL_SUM:
        return TERN_SUM;
    case c10d::ReduceOp::AVG:
        return TERN_AVG;
    case c10d::ReduceOp::PRODUCT:
        return TERN_PROD;
    case c10d::ReduceOp::MIN:
        return TERN_MIN;
    case c10d::ReduceOp::MAX:
        return TERN_MAX;
    case c10d::ReduceOp::BAND:
        return TERN_AND;
    case c10d::ReduceOp::BOR:
        return TERN_OR;
    case c10d::ReduceOp::BXOR:
        return TERN_XOR;
    default:
        throw std::invalid_argument("tern: unknown ReduceOp");
    }
}

// Of bytes that are 0 or 1.
tern_reduce_op op_of_bools(tern_reduce_op op)
{
    switch (op) {
    case TERN_SUM:
    case TERN_MAX:
    case TERN_OR:
        return TERN_OR;
    case TERN_PROD:
    case TERN_MIN:
    case TERN_AND:
        return TERN_AND;
    case TERN_XOR:
        return TERN_XOR;
    default:
        throw std::invalid_argument("tern: Cannot use ReduceOp.AVG with bools");
    }
}

const char *word_of(tern_reduce_op op)
{
    return op == TERN_AND ? "BAND" : op == TERN_OR ? "BOR" : op == TERN_XOR ? "BXOR" : "this op";
}

} // namespace

Element element_to_move(at::ScalarType type)
{
    tern_dtype dtype;
    if (number_of(type, &dtype)) {
        return {dtype, 1};
    }
    if (moved_of(type, &dtype)) {
        return {dtype, 1};
    }
    if (complex_of(type, &dtype)) {
        return {dtype, 2};
    }
    return {TERN_U8, c10::elementSize(type)};
}

Reduction reduction_of(at::ScalarType type, const c10d::ReduceOp &op)
{
    Reduction reduction = {{TERN_U8, 1}, op_of(op)};
    if (type == at::kBool) {
        reduction.op = op_of_bools(reduction.op);
    } else if (complex_of(type, &reduction.element.dtype)) {
        reduction.element.factor = 2;
        if (reduction.op != TERN_SUM && reduction.op != TERN_AVG) {
            throw std::invalid_argument("tern: complex numbers can be summed and averaged, nothing "
                                        "else");
        }
    } else if (!number_of(type, &reduction.element.dtype)) {
        throw std::invalid_argument(
            std::string("tern: Invalid scalar type: there are no sums of ") + toString(type));
    }
    if (tern_reduce_element_bytes(reduction.element.dtype, reduction.op) == 0) {
        throw std::runtime_error(std::string("tern: Cannot use ReduceOp.") + word_of(reduction.op) +
                                 " with non-integral dtype");
    }
    return reduction;
}

void premultiply(at::Tensor &tensor, const c10d::ReduceOp &op)
{
    if (op != c10d::ReduceOp::PREMUL_SUM) {
        return;
    }
    auto *factors = dynamic_cast<c10d::NCCLPreMulSumSupplement *>(op.supplement_.get());
    if (factors == nullptr) {
        throw std::invalid_argument("tern: PREMUL_SUM without a factor");
    }
    if (factors->tensor_factors.empty()) {
        tensor.mul_(factors->double_factor);
    } else {
        tensor.mul_(factors->tensor_factors[0]);
    }
}

} // namespace tern_torch
