! SPDX-License-Identifier: Apache-2.0
! A field in slices, smoothed again and again; its halo is fetched from coarrays of the neighbours. Prints its sum.
program coarrays
  implicit none
  integer, parameter :: width = 64, steps = 20
  double precision, allocatable :: field(:)[:]
  double precision :: next(width), total
  integer :: step, lower, upper

  allocate (field(width)[*])
  field = [(sin(0.1d0 * (step + width * this_image())), step = 1, width)]
  lower = modulo(this_image() - 2, num_images()) + 1
  upper = modulo(this_image(), num_images()) + 1
  do step = 1, steps
    sync all
    next(2:width - 1) = 0.5d0 * (field(1:width - 2) + field(3:width))
    next(1) = 0.5d0 * (field(width)[lower] + field(2))
    next(width) = 0.5d0 * (field(width - 1) + field(1)[upper])
    sync all
    field = next
  end do
  total = sum(field)
  call co_sum(total, result_image=1)
  if (this_image() == 1) print '(a,f16.10)', 'sum', total
end program
