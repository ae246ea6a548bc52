! SPDX-License-Identifier: Apache-2.0
!> What the programs of this folder share: facts that must hold, and numbers that every rank can compute.
module facts
  use, intrinsic :: iso_c_binding
  use plait
  implicit none
  integer, parameter :: double = kind(1d0)
  integer :: failures = 0
contains

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(*), intent(in) :: what
    if (is_right) return
    write (*, "(2a)") what, ": " // plait_last_error()
    failures = failures + 1
  end subroutine

  !> A number in [0, 1) for each id and purpose.
  recursive real(double) function number_of(id, purpose)
    integer(c_int64_t), intent(in) :: id
    integer, intent(in) :: purpose
    integer(c_int64_t) :: x
    integer :: i
    x = id * 16 + purpose + 1
    do i = 1, 4
      x = mod(x * 1103515245_c_int64_t + 12345, 2147483648_c_int64_t)
    end do
    number_of = x / 2147483648d0
  end function

  recursive function velocity_of(id) result(its_velocity)
    integer(c_int64_t), intent(in) :: id
    real(double) :: its_velocity(3)
    its_velocity = [number_of(id, 4), number_of(id, 5), number_of(id, 6)] - 0.5d0
  end function
end module
