! SPDX-License-Identifier: Apache-2.0
! All-to-alls in coarray Fortran, called from coarray.cpp. Gets of gfortran's coarrays complete before the next
! statement: there are no variants that compute meanwhile.
module alltoall_coarray
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  implicit none
  private

  ! What other images fetch: of all exchanges, which alternate.
  integer(c_int64_t), allocatable, save :: outgoing(:)[:]

contains

  ! Allocates for exchanges with so many words in the coarray. Collective over all images.
  subroutine alltoall_coarray_reserve(words) bind(c)
    integer(c_int64_t), value :: words
    integer(c_int64_t) :: most
    most = words
    call co_max(most)
    if (allocated(outgoing)) then
      if (size(outgoing, kind=c_int64_t) >= most) return  ! on all images, as it is as long on all
      deallocate (outgoing)
    end if
    allocate (outgoing(most)[*])
  end subroutine

  ! One all-to-all of blocks of `words` among the images of a group, in chunks. `self`: this image's place in `images`;
  ! `order`: the places of the others, in the order in which their blocks are fetched.
  subroutine alltoall_coarray_exchange(members, self, images, order, words, chunk, sent, received) bind(c)
    integer(c_int), value :: members, self
    integer(c_int), intent(in) :: images(members), order(members - 1)
    integer(c_int64_t), value :: words, chunk
    integer(c_int64_t), intent(in) :: sent(words, members)
    integer(c_int64_t), intent(inout) :: received(words, members)
    integer(c_int64_t) :: first, last, length, mine
    integer :: others(members - 1), member, step

    others = images(order)
    mine = (self - 1) * chunk
    do first = 1, words, chunk
      last = min(first + chunk - 1, words)
      length = last - first + 1
      do member = 1, members
        outgoing((member - 1) * chunk + 1:(member - 1) * chunk + length) = sent(first:last, member)
      end do
      sync images (others)
      do step = 1, members - 1
        received(first:last, order(step)) = outgoing(mine + 1:mine + length)[others(step)]
      end do
      sync images (others)
    end do
  end subroutine
end module
