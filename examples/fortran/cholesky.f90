! SPDX-License-Identifier: Apache-2.0
! ranks: 4
! expected: 14_cholesky.expected
!> The Cholesky factor of a matrix in tiles, as a sequential program of four kinds of tasks. Every rank submits all tasks;
!! messages follow from the tiles that tasks access.
module tiles_of_cholesky
  use, intrinsic :: iso_c_binding
  use plait
  implicit none
  integer, parameter :: b = 24, tiles = 6, n = tiles * b, double = c_double

contains

  !> Gives the memory of an access its shape.
  function tile(memory) result(a)
    type(plait_memory), intent(in) :: memory
    real(double), pointer :: a(:, :)
    call c_f_pointer(memory%first, a, [b, b])
  end function

  real(double) pure function element(row, column)
    integer, intent(in) :: row, column
    element = merge(3d0, 1 / (1 + real(row - column, double)**2), row == column)
  end function

  recursive subroutine fill(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: a(:, :)
    integer :: i, j
    ierr = PLAIT_SUCCESS
    a => tile(memory(1))
    do j = 1, b
      do i = 1, b
        a(i, j) = element((arguments(1) - 1) * b + i, (arguments(2) - 1) * b + j)
      end do
    end do
  end subroutine

  !> A tile on the diagonal: its factor, by columns.
  recursive subroutine factorise(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: a(:, :)
    integer :: j, k
    if (size(arguments) > 0) ierr = PLAIT_BAD_ARGUMENT
    a => tile(memory(1))
    do k = 1, b
      if (.not. a(k, k) > 0) then
        call plait_fail("the matrix is not positive definite: it has no Cholesky factor", ierr)
        return
      end if
      a(k, k) = sqrt(a(k, k))
      a(k + 1:, k) = a(k + 1:, k) / a(k, k)
      do j = k + 1, b
        a(j:, j) = a(j:, j) - a(j:, k) * a(j, k)
      end do
    end do
  end subroutine

  !> A tile below it: x with x * l^T = a, in place.
  recursive subroutine solve(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: l(:, :), a(:, :)
    integer :: j, k
    if (size(arguments) > 0) ierr = PLAIT_BAD_ARGUMENT
    l => tile(memory(1))
    a => tile(memory(2))
    do j = 1, b
      do k = 1, j - 1
        a(:, j) = a(:, j) - a(:, k) * l(j, k)
      end do
      a(:, j) = a(:, j) / l(j, j)
    end do
  end subroutine

  !> Subtracts left * right^T; with two accesses only, both are the first.
  recursive subroutine update(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: left(:, :), right(:, :), c(:, :)
    integer :: j, k
    if (size(arguments) > 0) ierr = PLAIT_BAD_ARGUMENT
    left => tile(memory(1))
    right => tile(memory(size(memory) - 1))
    c => tile(memory(size(memory)))
    do j = 1, b
      do k = 1, b
        c(:, j) = c(:, j) - left(:, k) * right(j, k)
      end do
    end do
  end subroutine

  !> The factor of the whole matrix, by one rank.
  function sequential_factor() result(l)
    real(double) :: l(n, n), sum
    integer :: i, j, k
    l = 0
    do j = 1, n
      do i = j, n
        sum = element(i, j)
        do k = 1, j - 1
          sum = sum - l(i, k) * l(j, k)
        end do
        if (i == j) l(i, j) = sqrt(sum)
        if (i /= j) l(i, j) = sum / l(j, j)
      end do
    end do
  end function
end module

program cholesky
  use, intrinsic :: iso_c_binding
  use mpi
  use plait
  use tiles_of_cholesky
  implicit none
  type(plait_runtime) :: runtime
  type(plait_group) :: group
  type(plait_flow) :: flow
  type(plait_data) :: a(tiles, tiles)
  integer :: provided, error, row, column, k, different

  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime)
  call plait_group_create(runtime, group)
  call plait_flow_create(runtime, flow)
  do row = 1, tiles
    do column = 1, row
      call plait_flow_data(flow, owner(row, column), a(row, column), bytes=int(b * b, c_size_t) * c_sizeof(1d0))
      call plait_flow_submit(flow, "fill", fill, [plait_write(a(row, column))], [row, column])
    end do
  end do

  do k = 1, tiles
    call plait_flow_submit(flow, "factorise", factorise, [plait_read_write(a(k, k))])
    do row = k + 1, tiles
      call plait_flow_submit(flow, "solve", solve, [plait_read(a(k, k)), plait_read_write(a(row, k))])
    end do
    do row = k + 1, tiles
      call plait_flow_submit(flow, "update_diagonal", update, [plait_read(a(row, k)), plait_read_write(a(row, row))])
      do column = k + 1, row - 1
        call plait_flow_submit(flow, "update", update, &
                               [plait_read(a(row, k)), plait_read(a(column, k)), plait_read_write(a(row, column))])
      end do
    end do
  end do
  call plait_flow_wait(flow)

  different = count_different()
  call plait_all_reduce(group, different, PLAIT_SUM)
  if (plait_rank(runtime) == 0) then
    print "(2(i0, a, i0, a), i0, a)", n, " x ", n, " elements in ", tiles, " x ", tiles, " tiles: ", different, &
      " differ from the sequential factor"
  end if
  call plait_flow_free(flow)
  call plait_group_free(group)
  call plait_runtime_free(runtime)
  call MPI_Finalize(error)

contains

  !> The rank that owns a tile, in a grid of 2 x 2 ranks.
  integer function owner(row, column)
    integer, intent(in) :: row, column
    owner = mod(row - 1, 2) * 2 + mod(column - 1, 2)
  end function

  !> Of the lower triangle, the elements of this rank's tiles that differ from the sequential factor.
  integer function count_different() result(count)
    real(double) :: l(n, n)
    real(double), pointer :: own(:, :)
    type(c_ptr) :: memory
    integer :: row, column, i, j
    l = sequential_factor()
    count = 0
    do row = 1, tiles
      do column = 1, row
        if (owner(row, column) /= plait_rank(runtime)) cycle
        call plait_data_local(a(row, column), memory)
        call c_f_pointer(memory, own, [b, b])
        do j = 1, b
          do i = merge(j, 1, row == column), b
            if (abs(own(i, j) - l((row - 1) * b + i, (column - 1) * b + j)) > 1d-12) count = count + 1
          end do
        end do
      end do
    end do
  end function
end program
