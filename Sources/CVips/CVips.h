// libvips for Swift: wrappers for the variadic functions that Swift cannot import.
//
// Ownership: a function that returns a `VipsImage *` returns a reference, to be released by
// `g_object_unref`; NULL means failure, described in libvips' error buffer. Images are lazy: the
// caller owns the buffer given to a loader, which must outlive the image and all images derived from
// it. Buffers filled by savers are freed by `g_free`. All functions may be called on any thread; a
// thread that used libvips calls `vips_thread_shutdown` before it ends.
#pragma once
#include <stdlib.h>
// For the extended attributes of filtered files, which Swift's Glibc module lacks.
#include <sys/xattr.h>
#include <vips/vips.h>

static inline void apus_vips_discard_log(
    const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
  (void)domain;
  (void)level;
  (void)message;
  (void)data;
}

/// Starts libvips for the process: `threads` per image, no cache of operations (each file is seen
/// once), no loaders that its authors do not trust with hostile files, and no messages on stderr.
/// Returns 0 on success.
static inline int apus_vips_start(int threads) {
  g_log_set_handler(
      "VIPS", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_INFO | G_LOG_LEVEL_MESSAGE,
      apus_vips_discard_log, NULL);
  if (vips_init("apus")) return -1;
  vips_concurrency_set(threads);
  vips_cache_set_max(0);
#if VIPS_MAJOR_VERSION > 8 || VIPS_MINOR_VERSION >= 13
  vips_block_untrusted_set(TRUE);
#endif
  return 0;
}

// The JPEG decoder reports damage as a warning, so warnings have to fail. Other decoders also warn
// about harmless things, such as unusual profiles.

static inline VipsImage *apus_vips_load_jpeg(
    const void *bytes, size_t count, VipsFailOn fail_on) {
  VipsImage *image = NULL;
  if (vips_jpegload_buffer(
          (void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", fail_on,
          NULL))
    return NULL;
  return image;
}

static inline VipsImage *apus_vips_load_png(const void *bytes, size_t count) {
  VipsImage *image = NULL;
  if (vips_pngload_buffer(
          (void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
          VIPS_FAIL_ON_ERROR, NULL))
    return NULL;
  return image;
}

// Loaders without rows in order: decoded to memory, never to a temporary file.

static inline VipsImage *apus_vips_load_webp(const void *bytes, size_t count) {
  VipsImage *image = NULL;
  if (vips_webpload_buffer(
          (void *)bytes, count, &image, "memory", TRUE, "fail_on", VIPS_FAIL_ON_ERROR, NULL))
    return NULL;
  return image;
}

/// Loads all pages, one below the other.
static inline VipsImage *apus_vips_load_tiff(const void *bytes, size_t count) {
  VipsImage *image = NULL;
  if (vips_tiffload_buffer(
          (void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
          VIPS_FAIL_ON_ERROR, "n", -1, NULL))
    return NULL;
  return image;
}

static inline VipsImage *apus_vips_load_heif(const void *bytes, size_t count) {
  VipsImage *image = NULL;
  if (vips_heifload_buffer(
          (void *)bytes, count, &image, "memory", TRUE, "fail_on", VIPS_FAIL_ON_ERROR, NULL))
    return NULL;
  return image;
}

static inline int apus_vips_save_jpeg(
    VipsImage *image, int quality, VipsForeignSubsample subsample, gboolean progressive,
    void **bytes, size_t *count) {
  return vips_jpegsave_buffer(
      image, bytes, count, "Q", quality, "subsample_mode", subsample, "interlace", progressive,
      "strip", TRUE, NULL);
}

static inline int apus_vips_save_png(
    VipsImage *image, gboolean interlaced, void **bytes, size_t *count) {
  return vips_pngsave_buffer(
      image, bytes, count, "interlace", interlaced, "strip", TRUE, NULL);
}

static inline int apus_vips_save_webp(
    VipsImage *image, int quality, gboolean lossless, void **bytes, size_t *count) {
  return vips_webpsave_buffer(
      image, bytes, count, "Q", quality, "lossless", lossless, "strip", TRUE, NULL);
}

/// Writes strips if `tile_width` is 0.
static inline int apus_vips_save_tiff(
    VipsImage *image, VipsForeignTiffCompression compression, int quality, gboolean lossless,
    VipsForeignTiffPredictor predictor, int tile_width, int tile_height, int page_height,
    gboolean premultiply, void **bytes, size_t *count) {
  return vips_tiffsave_buffer(
      image, bytes, count, "compression", compression, "Q", quality, "lossless", lossless,
      "predictor", predictor, "tile", (gboolean)(tile_width > 0), "tile_width",
      tile_width > 0 ? tile_width : 128, "tile_height", tile_height > 0 ? tile_height : 128,
      "page_height", page_height, "premultiply", premultiply, "strip", TRUE, NULL);
}

/// Writes the image's profile and XMP, and an EXIF item that libvips creates.
static inline int apus_vips_save_heif(
    VipsImage *image, VipsForeignHeifCompression compression, int quality, int bit_depth,
    VipsForeignSubsample subsample, void **bytes, size_t *count) {
  return vips_heifsave_buffer(
      image, bytes, count, "compression", compression, "Q", quality, "bitdepth", bit_depth,
      "subsample_mode", subsample, NULL);
}

static inline VipsImage *apus_vips_extract_bands(VipsImage *image, int first, int count) {
  VipsImage *out = NULL;
  return vips_extract_band(image, &out, first, "n", count, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_crop(
    VipsImage *image, int left, int top, int width, int height) {
  VipsImage *out = NULL;
  return vips_extract_area(image, &out, left, top, width, height, NULL) ? NULL : out;
}

/// Joins two images side by side.
static inline VipsImage *apus_vips_join(VipsImage *left, VipsImage *right) {
  VipsImage *out = NULL;
  return vips_join(left, right, &out, VIPS_DIRECTION_HORIZONTAL, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_append_bands(VipsImage *image, VipsImage *bands) {
  VipsImage *out = NULL;
  return vips_bandjoin2(image, bands, &out, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_recombine(VipsImage *image, VipsImage *matrix) {
  VipsImage *out = NULL;
  return vips_recomb(image, &out, matrix, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_round(VipsImage *image) {
  VipsImage *out = NULL;
  return vips_rint(image, &out, NULL) ? NULL : out;
}

/// Clamps values to the range of the format.
static inline VipsImage *apus_vips_cast(VipsImage *image, VipsBandFormat format) {
  VipsImage *out = NULL;
  return vips_cast(image, &out, format, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_interpret(
    VipsImage *image, VipsInterpretation interpretation) {
  VipsImage *out = NULL;
  return vips_copy(image, &out, "interpretation", interpretation, NULL) ? NULL : out;
}

static inline VipsImage *apus_vips_black(int width, int height, int bands) {
  VipsImage *out = NULL;
  return vips_black(&out, width, height, "bands", bands, NULL) ? NULL : out;
}

/// Converts to sRGB from the embedded profile, or else from `fallback`, a profile of libvips.
static inline VipsImage *apus_vips_to_srgb(VipsImage *image, const char *fallback, int depth) {
  VipsImage *out = NULL;
  return vips_icc_transform(
             image, &out, "srgb", "embedded", TRUE, "input_profile", fallback, "depth", depth,
             NULL)
      ? NULL
      : out;
}

static inline void apus_vips_unref(VipsImage *image) { g_object_unref(image); }
