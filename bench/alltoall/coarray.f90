! SPDX-License-Identifier: Apache-2.0
! CoM and CrB of the PSDNS test harness in coarray Fortran, over all images as one row. The gets of gfortran's coarrays
! are blocking, so CrN and CsN cannot be written. bench_alltoall starts this program and puts its lines into its table:
!   alltoall_coarray IMAGES BYTES ITERATIONS UNITS CHUNK_BYTES
! prints, for each iteration of each variant, its name, the seconds of all and of the work, both on the slowest image.
program alltoall_coarray
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  implicit none
  integer, parameter :: warm_up_rounds = 2
  integer(int64) :: elements, chunk, units
  integer(int64), allocatable :: send(:, :), receive(:, :)
  integer(int64), allocatable :: block(:, :)[:], bucket(:, :)[:]
  integer, allocatable :: order(:)
  integer :: iterations, iteration, me, images
  real(real64) :: total, work, result

  me = this_image()
  images = num_images()
  if (images /= argument(1)) then
    if (me == 1) write (error_unit, '(a,i0,a)') 'coarrays see ', images, ' images: another MPI than that of the launcher?'
    error stop 2
  end if
  elements = argument(2) / 8
  iterations = int(argument(3))
  units = argument(4)
  chunk = min(argument(5) / 8, elements)
  allocate (send(elements, images), receive(elements, images), order(images))
  allocate (block(elements, images)[*], bucket(chunk, images)[*])
  call put_in_random_order()
  result = 0
  do iteration = 1, iterations + warm_up_rounds
    call measure('CoM')
    call measure('CrB')
  end do
  if (result > huge(result)) error stop 'the work came to no finite number'

contains

  integer(int64) function argument(number)
    integer, intent(in) :: number
    character(len=32) :: text
    call get_command_argument(number, text)
    read (text, *) argument
  end function

  ! Tells source, destination, iteration and element apart.
  elemental integer(int64) function value_of(source, destination, element)
    integer, intent(in) :: source, destination
    integer(int64), intent(in) :: element
    value_of = ((int(source, int64) * 4096 + destination) * 4096 + iteration) * 2_int64**28 + element
  end function

  subroutine put_in_random_order()
    integer :: i, j, kept
    real(real64) :: random
    order = [(i, i = 1, images)]
    call random_init(repeatable=.true., image_distinct=.true.)
    do i = images, 2, -1
      call random_number(random)
      j = 1 + int(random * i)
      kept = order(i)
      order(i) = order(j)
      order(j) = kept
    end do
  end subroutine

  subroutine measure(name)
    character(len=*), intent(in) :: name
    integer(int64) :: element
    integer :: other
    real(real64) :: start, middle
    do other = 1, images
      send(:, other) = [(value_of(me, other, element), element = 1, elements)]
    end do
    sync all
    start = seconds()
    if (name == 'CoM') call in_chunks()
    if (name == 'CrB') call from_one_block()
    middle = seconds()
    call do_work()
    total = seconds() - start
    work = seconds() - middle
    do other = 1, images
      if (any(receive(:, other) /= [(value_of(other, me, element), element = 1, elements)])) then
        error stop 'a result is wrong'
      end if
    end do
    call co_max(total)
    call co_max(work)
    if (me == 1 .and. iteration > warm_up_rounds) print '(a,1x,es16.8,1x,es16.8)', name, total, work
  end subroutine

  subroutine in_chunks()
    integer(int64) :: first, last, length
    integer :: j
    do first = 1, elements, chunk
      last = min(first + chunk - 1, elements)
      length = last - first + 1
      do j = 1, images
        bucket(1:length, j) = send(first:last, j)
      end do
      sync all
      do j = 1, images
        receive(first:last, order(j)) = bucket(1:length, me)[order(j)]
      end do
      sync all
    end do
  end subroutine

  subroutine from_one_block()
    integer :: j
    block = send
    sync all
    do j = 1, images
      receive(:, order(j)) = block(:, me)[order(j)]
    end do
    sync all
  end subroutine

  ! The same units as those of work.cpp.
  subroutine do_work()
    real(real64), parameter :: pi = acos(-1.0_real64)
    integer(int64) :: unit
    real(real64) :: j, k
    do unit = 0, units - 1
      k = real(1 + mod(unit, 125_int64), real64)
      j = real(1 + mod(unit / 125, 16_int64), real64)
      result = result + sin(j * (pi / k)) + cos(k * (pi / j))
    end do
  end subroutine

  real(real64) function seconds()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    seconds = real(count, real64) / real(rate, real64)
  end function
end program
