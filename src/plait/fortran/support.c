/* SPDX-License-Identifier: Apache-2.0 */
/* What Fortran cannot express: descriptors of arrays, which each compiler describes in a header of its own, and the end
 * of a program. */
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <stdlib.h>

#include "plait/plait.h"

int plait_fortran_layout(const CFI_cdesc_t* array, plait_layout* layout);
int plait_fortran_contiguous(const CFI_cdesc_t* array, void** first, size_t* bytes);
int plait_fortran_type(const CFI_cdesc_t* array, int* type);
void plait_fortran_stop(int error);

/* The memory of an array or a section of it, without a copy. */
int plait_fortran_layout(const CFI_cdesc_t* array, plait_layout* layout) {
  int i;
  *layout = plait_contiguous(array->base_addr, array->elem_len);
  for (i = 0; i < array->rank; ++i) {
    if (array->dim[i].extent < 0) {
      return plait_fail(PLAIT_BAD_ARGUMENT,
                        "the size of an assumed-size array is not known: give a section, as a(1:n)");
    }
    plait_layout_repeat(layout, array->dim[i].sm, (size_t)array->dim[i].extent);
  }
  return PLAIT_SUCCESS;
}

/* The memory of an array that must be contiguous. */
int plait_fortran_contiguous(const CFI_cdesc_t* array, void** first, size_t* bytes) {
  plait_layout layout;
  const int error = plait_fortran_layout(array, &layout);
  size_t contiguous = array->elem_len;
  int i;
  for (i = 0; error == PLAIT_SUCCESS && i < array->rank; ++i) {
    if (layout.counts[i] > 1 && layout.strides[i] != (ptrdiff_t)contiguous) {
      return plait_fail(PLAIT_BAD_ARGUMENT, "an array is not contiguous, as this call needs it: give a whole array");
    }
    contiguous *= layout.counts[i];
  }
  *first = array->base_addr;
  *bytes = plait_layout_bytes(&layout);
  return error;
}

/* The plait_type of the elements. */
int plait_fortran_type(const CFI_cdesc_t* array, int* type) {
  const int is_long = array->elem_len == 8;
  switch (array->type) {
    case CFI_type_int32_t:
    case CFI_type_int64_t:
      *type = is_long ? PLAIT_INT64 : PLAIT_INT32;
      return PLAIT_SUCCESS;
    case CFI_type_float:
    case CFI_type_double:
      *type = is_long ? PLAIT_DOUBLE : PLAIT_FLOAT;
      return PLAIT_SUCCESS;
    case CFI_type_float_Complex:
    case CFI_type_double_Complex:
      *type = is_long ? PLAIT_FLOAT_COMPLEX : PLAIT_DOUBLE_COMPLEX;
      return PLAIT_SUCCESS;
    default:
      return plait_fail(PLAIT_BAD_ARGUMENT,
                        "a reduction has elements of another type than integer, real or complex of 32 or 64 bits");
  }
}

/* Ends the program because of an error that it does not handle. */
void plait_fortran_stop(int error) {
  const char* const sentence = plait_last_error();
  int is_initialised = 0;
  int is_finalised = 0;
  fprintf(stderr, "plait: %s\n", sentence[0] != '\0' ? sentence : plait_error_text(error));
  fflush(stderr);
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (is_initialised && !is_finalised) {
    MPI_Abort(MPI_COMM_WORLD, error);
  }
  exit(error);
}
