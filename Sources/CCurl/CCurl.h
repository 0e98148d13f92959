// libcurl for Swift: the variadic calls that Swift cannot import, one wrapper per argument type.
//
// Ownership: handles belong to the caller. Strings given to curl_easy_setopt are copied by libcurl.
// Callbacks run on the thread that performs the transfer.
#pragma once
#include <curl/curl.h>

static inline CURLcode apus_easy_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode apus_easy_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode apus_easy_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode apus_easy_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}
typedef size_t (*apus_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode apus_easy_set_data_callback(
    CURL *handle, CURLoption option, apus_data_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}
static inline CURLcode apus_easy_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
