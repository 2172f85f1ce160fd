// SPDX-License-Identifier: MIT
// multibox_prior.cl - anchors = the corners (x0, y0, x1, y1) of every cell's boxes
//
// A cell of the feature map has a box of each size, and one of the first size for each ratio but
// the first. So it has sizes + ratios - 1 boxes, those of the sizes first. The map is 1 wide and 1
// high.
//
//   centre = ((x + offset_x) * step_x, (y + offset_y) * step_y)       of column x, row y
//   half   = (size * height / width * sqrt(ratio), size / sqrt(ratio)) / 2;   a size's ratio is 1
//   corner = centre -+ half; clip: between 0 and 1
//
//   anchors |size 0|size 1|ratio 1|ratio 2|size 0|size 1|ratio 1|ratio 2|...   a box an item
//           |.......... cell 0 ...........|.......... cell 1 ...........|...   row after row
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything in
// between is float. Every byte offset fits an int.
//
//@define CLAM_F16               off                    store tensors as half
//@define MULTIBOX_PRIOR_WG      64 {16,32,64,128,256}  work-items of a group
//@define MULTIBOX_PRIOR_SIZES   1.0f                   float literals with commas between them
//@define MULTIBOX_PRIOR_RATIOS  1.0f                   the same, each above 0

//@shared options
#ifndef MULTIBOX_PRIOR_WG
#define MULTIBOX_PRIOR_WG 64
#endif
#if MULTIBOX_PRIOR_WG < 16 || MULTIBOX_PRIOR_WG > 256 || MULTIBOX_PRIOR_WG & (MULTIBOX_PRIOR_WG - 1)
#error "multibox_prior.cl: MULTIBOX_PRIOR_WG must be a power of two from 16 to 256"
#endif
#ifndef MULTIBOX_PRIOR_SIZES
#define MULTIBOX_PRIOR_SIZES 1.0f
#endif
#ifndef MULTIBOX_PRIOR_RATIOS
#define MULTIBOX_PRIOR_RATIOS 1.0f
#endif
//@end

//@shared element
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

__constant float sizes[] = {MULTIBOX_PRIOR_SIZES};
__constant float ratios[] = {MULTIBOX_PRIOR_RATIOS};

#define SIZES ((uint)(sizeof(sizes) / sizeof(float)))
#define RATIOS ((uint)(sizeof(ratios) / sizeof(float)))
#define BOXES (SIZES + RATIOS - 1)  // of a cell
#define GROUP __attribute__((reqd_work_group_size(MULTIBOX_PRIOR_WG, 1, 1)))

// Half the width and height of box k of a cell.
float2 half_of_box(uint k, int height, int width) {
  const bool is_size = k < SIZES;
  const float size = sizes[is_size ? k : 0];
  const float ratio = is_size ? 1.0f : ratios[is_size ? 0 : k - SIZES + 1];
  const float root = sqrt(ratio);
  return (float2)(size * (float)height / (float)width * root, size / root) * 0.5f;
}

//@kernel multibox_prior_boxes
//@arg    0 anchors  out T[height*width*boxes*4]  boxes = sizes + ratios - 1; 16-byte aligned
//@arg    1 height   int                          cells of the feature map
//@arg    2 width    int
//@arg    3 step_y   float                        from a row to the next; 1/height to fill the map
//@arg    4 step_x   float
//@arg    5 offset_y float                        of the centre in its cell, in cells
//@arg    6 offset_x float
//@arg    7 clip     int                          1: corners between 0 and 1
//@global ceil(width*boxes/MULTIBOX_PRIOR_WG)*MULTIBOX_PRIOR_WG, height
//@local  MULTIBOX_PRIOR_WG
//@needs  height >= 1, width >= 1
__kernel GROUP void multibox_prior_boxes(__global T* anchors, int height, int width, float step_y,
                                         float step_x, float offset_y, float offset_x, int clip) {
  const uint i = get_global_id(0), y = get_global_id(1);
  const uint x = i / BOXES;
  if (x >= (uint)width) return;
  const float2 centre = (float2)(((float)x + offset_x) * step_x, ((float)y + offset_y) * step_y);
  const float2 half_size = half_of_box(i % BOXES, height, width);
  const float2 low = centre - half_size, high = centre + half_size;
  float4 box = (float4)(low.x, low.y, high.x, high.y);  // of pairs it would end Oclgrind
  if (clip) box = fmin(fmax(box, (float4)(0.0f)), (float4)(1.0f));
  ((__global T4*)anchors)[y * width * BOXES + i] = (T4)((T)box.x, (T)box.y, (T)box.z, (T)box.w);
}
