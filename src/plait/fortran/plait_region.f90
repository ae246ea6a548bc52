! SPDX-License-Identifier: Apache-2.0
! Names parts of a program's time for reports, in any program in Fortran, with and without MPI or plait: copy this file
! and compile it with the program. There is nothing to link (before glibc 2.34: -ldl).
!
!   use plait_region
!   call plait_region_begin("solve")
!   ...
!   call plait_region_end()
!
! The procedures are those of the module plait. They pass the call on to the recorder of `plait record`, or to plait's
! library for C where the program has it as a shared one. Without either they do nothing.
module plait_region
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: plait_region_begin, plait_region_end

  abstract interface
    subroutine begin_function(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine end_function() bind(C)
    end subroutine
  end interface

  interface
    type(c_funptr) function find_symbol(handle, name) bind(C, name="dlsym")
      import :: c_ptr, c_char, c_funptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

contains

  ! Begins a region of the calling thread, which ends with the matching plait_region_end in the same thread. Regions
  ! nest. Threads: any.
  subroutine plait_region_begin(name)
    character(*), intent(in) :: name
    type(c_funptr) :: found
    procedure(begin_function), pointer :: begin
    found = find_either("plait_recorder_region_begin", "plait_region_begin")
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, begin)
    call begin(trim(name) // c_null_char)
  end subroutine

  subroutine plait_region_end()
    type(c_funptr) :: found
    procedure(end_function), pointer :: end_region
    found = find_either("plait_recorder_region_end", "plait_region_end")
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, end_region)
    call end_region()
  end subroutine

  ! The first of two functions that the process has; a null handle searches all of it.
  type(c_funptr) function find_either(first, second)
    character(*), intent(in) :: first, second
    find_either = find_symbol(c_null_ptr, first // c_null_char)
    if (.not. c_associated(find_either)) find_either = find_symbol(c_null_ptr, second // c_null_char)
  end function
end module
