! SPDX-License-Identifier: Apache-2.0
! ranks: 4
! expected: 13_halo.expected
!> A stencil on a periodic grid of 2 x 2 ranks. While the edges of the blocks are under way, each rank computes the cells
!! that need none of them. Rows, which are sections, are sent from where they are.
program halo
  use mpi
  use plait
  implicit none
  integer, parameter :: n = 32, steps = 100, double = kind(1d0)
  integer, parameter :: left = 1, right = 2, above = 3, below = 4, opposite(4) = [right, left, below, above]
  type(plait_runtime) :: runtime
  type(plait_group) :: group
  !> A rank's block, before and after a step, with a line of cells of each neighbour around it.
  real(double), asynchronous :: cells(0:n + 1, 0:n + 1, 0:1)
  real(double) :: whole(0:2*n - 1, 0:2*n - 1)
  integer :: provided, error, row, column, i, j, number, different, neighbours(4)

  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime)
  call plait_group_create(runtime, group)
  row = plait_rank(runtime) / 2
  column = mod(plait_rank(runtime), 2)
  neighbours(left:right) = row * 2 + 1 - column
  neighbours(above:below) = (1 - row) * 2 + column
  do j = 1, n
    do i = 1, n
      cells(i, j, 0) = first_value(row * n + i - 1, column * n + j - 1)
    end do
  end do
  do number = 0, steps - 1
    call step(cells(:, :, mod(number, 2)), cells(:, :, mod(number + 1, 2)))
  end do
  whole = sequential_result()
  different = count(cells(1:n, 1:n, mod(steps, 2)) < whole(row*n:row*n + n - 1, column*n:column*n + n - 1) .or. &
                    cells(1:n, 1:n, mod(steps, 2)) > whole(row*n:row*n + n - 1, column*n:column*n + n - 1))
  call plait_all_reduce(group, different, PLAIT_SUM)
  if (plait_rank(runtime) == 0) then
    print "(i0, a, i0, a, i0, a)", 4 * n * n, " cells, ", steps, " steps: ", different, &
      " differ from the sequential result"
  end if
  call plait_group_free(group)
  call plait_runtime_free(runtime)
  call MPI_Finalize(error)

contains

  subroutine step(old, new)
    real(double), intent(inout), asynchronous :: old(0:, 0:)
    real(double), intent(inout) :: new(0:, 0:)
    type(plait_request) :: requests(8)
    integer :: i, j
    call plait_receive(runtime, old(1:n, 0), neighbours(left), opposite(left), requests(1))
    call plait_receive(runtime, old(1:n, n + 1), neighbours(right), opposite(right), requests(2))
    call plait_receive(runtime, old(0, 1:n), neighbours(above), opposite(above), requests(3))
    call plait_receive(runtime, old(n + 1, 1:n), neighbours(below), opposite(below), requests(4))
    call plait_send(runtime, old(1:n, 1), neighbours(left), left, requests(5))
    call plait_send(runtime, old(1:n, n), neighbours(right), right, requests(6))
    call plait_send(runtime, old(1, 1:n), neighbours(above), above, requests(7))
    call plait_send(runtime, old(n, 1:n), neighbours(below), below, requests(8))
    call plait_region_begin("interior")
    do j = 2, n - 1
      do i = 2, n - 1
        new(i, j) = average(old(i, j - 1), old(i, j + 1), old(i - 1, j), old(i + 1, j))
      end do
    end do
    call plait_region_end()
    call plait_wait_all(requests)
    do j = 1, n
      do i = 1, n, merge(1, n - 1, j == 1 .or. j == n)
        new(i, j) = average(old(i, j - 1), old(i, j + 1), old(i - 1, j), old(i + 1, j))
      end do
    end do
  end subroutine

  real(double) pure function first_value(row, column)
    integer, intent(in) :: row, column
    first_value = mod(row * 7 + column * 13, 31)
  end function

  real(double) pure elemental function average(left_of, right_of, above_of, below_of)
    real(double), intent(in) :: left_of, right_of, above_of, below_of
    average = 0.25d0 * (left_of + right_of + above_of + below_of)
  end function

  !> The whole grid after all steps, by one rank.
  function sequential_result() result(cells)
    real(double) :: cells(0:2*n - 1, 0:2*n - 1)
    integer :: i, j, number
    do j = 0, 2 * n - 1
      do i = 0, 2 * n - 1
        cells(i, j) = first_value(i, j)
      end do
    end do
    do number = 1, steps
      cells = average(cshift(cells, -1, 2), cshift(cells, 1, 2), cshift(cells, -1, 1), cshift(cells, 1, 1))
    end do
  end function
end program
