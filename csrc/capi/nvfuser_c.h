/* The C interface of nvfuser: make a fusion, define its inputs, call operations by name, add
 * outputs, execute it on DLPack tensors. For other languages and for bindings, which need nothing
 * else of the library.
 *
 * Functions that return int give NVF_OK or another nvf_status; nvf_last_error() then says why, for
 * the calling thread. No exception leaves the library. Values of a fusion (tensors and scalars) are
 * numbered from 0 in the order in which they were defined; these ids are the only handles of
 * values. One thread at a time defines a fusion; when it is defined, several may execute it. The
 * first execution ends the definition.
 */
#ifndef NVFUSER_C_H
#define NVFUSER_C_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* DLPack's; <dlpack/dlpack.h> defines it, and DLTensor, which has no tag to be declared by. */
struct DLManagedTensor;

typedef struct nvf_fusion nvf_fusion;

typedef enum nvf_status {
  NVF_OK = 0,
  NVF_USER_ERROR = 1,     /* a wrong program, input or environment */
  NVF_ARGUMENT_ERROR = 2, /* a call with arguments of the wrong kind, name or number */
  NVF_COMPILE_ERROR = 3,  /* the compiler at run time refused a kernel */
  NVF_INTERNAL_ERROR = 4  /* our own mistake */
} nvf_status;

/* Element types; nvf_dtype_name gives their names ("Double", "Float", ...). */
typedef enum nvf_dtype {
  NVF_NULL = 0,
  NVF_DOUBLE = 1,
  NVF_FLOAT = 2,
  NVF_HALF = 3,
  NVF_BFLOAT16 = 4,
  NVF_FLOAT8_E4M3FN = 5,
  NVF_FLOAT8_E5M2 = 6,
  NVF_CHAR = 7, /* int8 */
  NVF_SHORT = 8,
  NVF_INT32 = 9,
  NVF_INT = 10,  /* int64 */
  NVF_BYTE = 11, /* uint8 */
  NVF_UINT16 = 12,
  NVF_UINT32 = 13,
  NVF_UINT64 = 14,
  NVF_INDEX = 15,
  NVF_BOOL = 16,
  NVF_COMPLEX_FLOAT = 17,
  NVF_COMPLEX_DOUBLE = 18,
  NVF_DTYPE_COUNT = 19
} nvf_dtype;

/* What an nvf_argument holds, and in which field. */
typedef enum nvf_kind {
  NVF_ARG_NONE = 0,    /* nothing: the default */
  NVF_ARG_VALUE = 1,   /* integer: id of a value of the fusion */
  NVF_ARG_BOOL = 2,    /* integer: 0 or 1 */
  NVF_ARG_INT = 3,     /* integer */
  NVF_ARG_DOUBLE = 4,  /* real */
  NVF_ARG_COMPLEX = 5, /* real, imag */
  NVF_ARG_DTYPE = 6,   /* integer: an nvf_dtype */
  NVF_ARG_LIST = 7,    /* count arguments at items */
  NVF_ARG_TENSOR = 8,  /* tensor: a DLTensor, borrowed for the call (nvf_execute) */
  NVF_ARG_MANAGED = 9  /* tensor: a DLManagedTensor; the call takes it over, whether it succeeds or
                          fails (nvf_execute) */
} nvf_kind;

typedef struct nvf_argument {
  const char* name; /* of the parameter; null: by position */
  int32_t kind;     /* an nvf_kind */
  int64_t integer;
  double real;
  double imag;
  int64_t count;
  const struct nvf_argument* items;
  void* tensor;
} nvf_argument;

const char* nvf_version(void);
/* Of the calling thread's last call that failed; valid until its next one that fails. */
const char* nvf_last_error(void);

/* "Float" for NVF_FLOAT; null if there is no such dtype. */
const char* nvf_dtype_name(int32_t dtype);

/* ---- the operations: names are unique and sorted; null where there is no such index ---- */

int64_t nvf_op_count(void);
const char* nvf_op_name(int64_t index);
/* "sum(arg: Tensor, axes: list[int] | int | None = None, keepdim: bool = False, ...) -> Tensor" */
const char* nvf_op_signature(int64_t index);
const char* nvf_op_doc(int64_t index);

/* ---- definition ---- */

int nvf_fusion_create(nvf_fusion** fusion);
void nvf_fusion_destroy(nvf_fusion* fusion);

/* An input tensor. `sizes`: -1 symbolic, 1 broadcast, others constant; null: all symbolic.
 * `contiguity`: 1 where an axis is contiguous with the one to its right (entries of broadcast axes
 * do not matter); null: nowhere. */
int nvf_define_tensor(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                      const int8_t* contiguity, int32_t dtype, int64_t* id);
/* An input tensor like one of these sizes and strides: sizes become symbolic (but 1 stays), and
 * contiguity follows. */
int nvf_define_tensor_like(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                           const int64_t* strides, int32_t dtype, int64_t* id);
/* An input scalar. */
int nvf_define_scalar(nvf_fusion* fusion, int32_t dtype, int64_t* id);
int nvf_define_constant_double(nvf_fusion* fusion, double value, int64_t* id);
int nvf_define_constant_int(nvf_fusion* fusion, int64_t value, int64_t* id);
int nvf_define_constant_bool(nvf_fusion* fusion, int32_t value, int64_t* id);
int nvf_define_constant_complex(nvf_fusion* fusion, double real, double imag, int64_t* id);

/* Calls an operation. Arguments come by position, then by name; numbers stand for constants.
 * `count` becomes the number of results and `ids` theirs; -1 stands for a result that was not asked
 * for. NVF_ARGUMENT_ERROR if there are more than `capacity`. `axes`, `dims` and `dim` name the same
 * parameter, as do `keepdim` and `keep_dim`. */
int nvf_op(nvf_fusion* fusion, const char* name, const nvf_argument* arguments,
           int64_t argument_count, int64_t* ids, int64_t capacity, int64_t* count);

/* A tensor or a scalar; a scalar comes out as a tensor without axes, Index as Int. */
int nvf_add_output(nvf_fusion* fusion, int64_t id);

/* What a value is; any of the pointers may be null. `ndims` of a scalar is 0. */
int nvf_value_info(nvf_fusion* fusion, int64_t id, int32_t* is_tensor, int64_t* ndims,
                   int32_t* dtype);

/* ---- text: to be freed by nvf_free_text ---- */

/* The fusion's operations in the intermediate representation. */
int nvf_print(nvf_fusion* fusion, char** text);
/* The definition as a Python function, "def nvfuser_fusion_id<fusion_id>(fd : FusionDefinition) ->
 * None :". */
int nvf_definition(nvf_fusion* fusion, int64_t fusion_id, char** text);
/* 1 if the variable NVFUSER_<variable> (or PYTORCH_NVFUSER_<variable>), one of DUMP, ENABLE and
 * DISABLE, lists the option; 0 if not. -1 if there is no such variable or option. */
int nvf_option(const char* variable, const char* option);
/* 1 if NVFUSER_DUMP (or PYTORCH_NVFUSER_DUMP) names python_definition: a binding then prints the
 * definition of each fusion that it executes. */
int nvf_dumps_definition(void);
/* Text of the kernels that ran last. */
int nvf_kernels(nvf_fusion* fusion, char** text);
void nvf_free_text(char* text);

/* ---- execution ---- */

/* Inputs in the order of their definition: tensors (NVF_ARG_TENSOR, NVF_ARG_MANAGED) and numbers.
 * The caller frees each output by its deleter. An output that is (part of) an input shares the
 * memory of a managed tensor, and is a copy for a borrowed one. Everything is done on return.
 * NVF_ARGUMENT_ERROR if there are more than `capacity` outputs. */
int nvf_execute(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                struct DLManagedTensor** outputs, int64_t capacity, int64_t* count);

/* A caller's memory instead of the library's own: of outputs, of tensors between kernels and of
 * workspaces. A device is DLPack's type and number. The functions may be called from any thread;
 * `user` is passed on, and has to be usable until the last output was freed. */
typedef struct nvf_allocator {
  void* user;
  /* Sets `data` to memory aligned to 256 bytes, of which work queued on `stream` from now on makes
   * use, and `handle` to what `release` should be given. Returns 0 for success. `bytes` > 0. */
  int (*allocate)(void* user, int64_t bytes, int32_t device_type, int32_t device_id, void* stream,
                  void** data, void** handle);
  /* Work queued on `stream` by now may still use the memory. */
  void (*release)(void* user, void* data, void* handle, int32_t device_type, int32_t device_id,
                  void* stream);
} nvf_allocator;

/* What a caller brings to an execution; all zero for nothing. */
typedef struct nvf_run_context {
  void* stream;                   /* a CUstream, null: the default one; it outlives the outputs */
  const nvf_allocator* allocator; /* read during the call; null: the library's own memory */
  int32_t has_random_state;       /* 0: the numbers are drawn from the fusion's own state */
  uint64_t random_seed;           /* of random operations without seeds of their own */
  uint64_t random_offset;         /* the next is behind nvf_draw_count draws */
} nvf_run_context;

/* nvf_execute in a context (null: none): kernels are queued on its stream, behind the work that is
 * there, and not waited for. On the CPU everything is done on return. */
int nvf_execute_in(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                   const nvf_run_context* context, struct DLManagedTensor** outputs,
                   int64_t capacity, int64_t* count);

/* An execution that was looked up once, for callers that see by themselves that a call is like one
 * before and count nanoseconds: the next ones like it are addresses and a launch. It knows of the
 * options of its making. One thread at a time may use it; it is destroyed before its fusion. */
typedef struct nvf_launch nvf_launch;
/* Of an argument, what differs between such calls. */
typedef union nvf_word {
  void* address;   /* of a tensor's first element; null if it has no elements */
  double real;     /* of NVF_ARG_DOUBLE */
  int64_t integer; /* of NVF_ARG_INT and NVF_ARG_BOOL */
} nvf_word;
/* A tensor to be made, on a device of DLPack's type and number; strides are in elements. */
typedef struct nvf_tensor_form {
  int32_t dtype, device_type, device_id;
  int64_t ndims;
  const int64_t* sizes;
  const int64_t* strides;
} nvf_tensor_form;

/* After an execution with such arguments (tensors are NVF_ARG_TENSOR): `launch` becomes null if
 * more is to be done than to launch kernels, which write each output to memory of its own or to the
 * input that it updates. Like these arguments are those with the same kinds and integers, and
 * tensors with the same dtypes, devices, sizes and strides. */
int nvf_launch_create(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                      nvf_launch** launch);
void nvf_launch_destroy(nvf_launch* launch); /* may be null */
/* What output `index` is to be, in the order of an execution's; sizes and strides stay the
 * launch's. */
int nvf_launch_output(const nvf_launch* launch, int64_t index, nvf_tensor_form* form);
/* One word for each input of nvf_launch_create, and an address for each output: aligned to 64 bytes
 * (256 on CUDA), null if it has no elements. `done` becomes 1 and the work is queued as by
 * nvf_execute_in; or 0, and nothing was done, since an input's address is aligned otherwise than
 * the one before, an integer is another one, or an updated input shares memory with another. */
int nvf_launch_run(nvf_launch* launch, const nvf_word* inputs, void* const* outputs,
                   const nvf_run_context* context, int32_t* done);

/* Number of outputs that an execution returns. */
int nvf_output_count(nvf_fusion* fusion, int64_t* count);
/* Seed and first offset of random operations without seeds of their own. Ends the definition. */
int nvf_set_random_state(nvf_fusion* fusion, uint64_t seed, uint64_t offset);
/* Random operations without seeds of their own: how many offsets an execution takes. Ends the
 * definition. */
int nvf_draw_count(nvf_fusion* fusion, int64_t* count);
/* From now on what cannot be compiled is an error of the execution (0), or runs in another way,
 * with a warning (1, unless NVFUSER_DISABLE=fallback). For a caller that has a way of its own; not
 * while an execution runs. */
int nvf_allow_fallback(nvf_fusion* fusion, int32_t allowed);

#ifdef __cplusplus
}
#endif

#endif
