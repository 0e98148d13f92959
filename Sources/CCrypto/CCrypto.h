// Digests of OpenSSL's libcrypto, which libcurl loads anyway.
//
// The functions on plain structures are deprecated since OpenSSL 3, but only with them can a Swift value
// hold the state: no allocation, no ownership, and a copy of the value is a copy of the digest so far.
#pragma once
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

static inline void apus_hmac_sha256(
    const void *key, int key_count, const void *bytes, size_t count, unsigned char *code) {
  HMAC(EVP_sha256(), key, key_count, bytes, count, code, NULL);
}
