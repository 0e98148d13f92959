// libcurl for Swift: the variadic calls that Swift cannot import, one wrapper per argument type.
//
// Ownership: handles belong to the caller. Strings given to curl_easy_setopt are copied by libcurl.
// Callbacks run on the thread that performs the transfer.
#pragma once
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>

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
typedef int (*apus_seek_callback)(void *context, curl_off_t offset, int origin);
// Sets the callbacks and their context, which must outlive the transfer.
static inline void apus_easy_set_callbacks(
    CURL *handle, void *context, apus_data_callback receive_header,
    apus_data_callback receive_body, apus_data_callback send_body, apus_seek_callback seek_body) {
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, send_body);
    curl_easy_setopt(handle, CURLOPT_READDATA, context);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, context);
}
static inline CURLcode apus_easy_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline unsigned int apus_curl_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num;
}

static inline CURLMcode apus_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

typedef int (*apus_socket_callback)(
    CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context);
typedef int (*apus_timer_callback)(CURLM *multi, long milliseconds, void *context);
// Sets the callbacks for the sockets and the timer to wait for, and their context, which must outlive
// the handle. They are called within calls of curl_multi_socket_action, curl_multi_add_handle,
// curl_multi_remove_handle, curl_multi_cleanup and curl_easy_pause, on the same thread.
static inline void apus_multi_set_callbacks(
    CURLM *multi, void *context, apus_socket_callback watch, apus_timer_callback set_timer) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

// Ways to authenticate, as CURLOPT_HTTPAUTH and CURLINFO_HTTPAUTH_AVAIL have them.
static const long apus_auth_basic = CURLAUTH_BASIC;
static const long apus_auth_digest = CURLAUTH_DIGEST;
static const long apus_auth_bearer = CURLAUTH_BEARER;

// Keeps the handle's sockets from programs that this process starts, and breaks a connection whose
// bytes the other side has not acknowledged for the milliseconds of the context.
static inline int apus_prepare_socket(void *context, curl_socket_t socket, curlsocktype purpose) {
    unsigned int milliseconds = (unsigned int)(uintptr_t)context;
    (void)purpose;
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    // Fails for a Unix socket, which does not need it.
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
    return CURL_SOCKOPT_OK;
}
static inline CURLcode apus_easy_set_socket(CURL *handle, unsigned int milliseconds) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, apus_prepare_socket);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, (void *)(uintptr_t)milliseconds);
}
