// A TCP proxy that puts a distant network between a client and a server on this machine.
//
//   cc -O2 -o delay-proxy delay-proxy.c
//   delay-proxy --target 127.0.0.1:8080 --rtt 20ms --rate 47.7MiB
//
//   --target ADDRESS:PORT   the server (IPv4)
//   --listen ADDRESS:PORT   the proxy itself; default 127.0.0.1:0, a free port
//   --rtt TIME              round trip: 20ms, 500us, 1s; default 0
//   --rate BYTES            bytes a second, for each connection and direction: 47.7MiB; default: no cap
//   --no-handshake          connections open at once; by default their first bytes wait for another
//                           round trip, the time in which TCP opens a connection on such a network
//   --log FILE              appends a line for each request: seconds, connection, method, target
//
// The first line of its output is `{"port": 12345}`. SIGUSR1 prints the counts so far as one line of
// JSON; SIGTERM and SIGINT print them and end the proxy:
//
//   {"seconds": 12.3, "connections": 9, "connections_max": 8, "bytes_up": 1234,
//    "bytes_down": 268435456, "requests": 34, "methods": {"GET": 33, "PROPFIND": 1}}
//
// `connections_max` is the largest number open together. Bytes are counted when they enter the network,
// headers included; a request of HTTP/1.1 is counted when its header is complete.
//
// Each direction of a connection is a delay line. Bytes are accepted while its buffer has room (the
// bytes in flight at that rate, and 1 MiB), leave one after the other at the rate, and arrive half a
// round trip later; so requests and replies overlap as on a network. Not modelled: TCP's slow start,
// packet loss, and a link that all connections share. One thread; large bodies are spliced through a
// pipe instead of copied.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    chunk_size = 64 << 10,
    splice_max = 256 << 10,
    pipe_size = 1 << 20,
    slack = 1 << 20,
    line_max = 16 << 10,
    methods_max = 32,
    method_size = 16,
};

static const int64_t second = 1000000000;
/// Bytes that are due within one of these travel together, which bounds the wake-ups of a second.
static const int64_t tick = 250000;

struct settings {
    struct sockaddr_in target;
    int64_t rtt;
    double rate;
    bool has_handshake;
    FILE *log;
};

struct counts {
    int64_t started;
    uint64_t connections, open, open_max, bytes_up, bytes_down, requests;
    struct {
        char name[method_size];
        uint64_t count;
    } methods[methods_max];
};

/// Bytes under way that arrive together.
struct chunk {
    struct chunk *next;
    int64_t due;
    size_t start, end;
    /// Whether its bytes are the next in the pipe.
    bool is_spliced;
    char bytes[chunk_size];
};

/// Follows the client's bytes from request to request.
struct parser {
    enum { in_head, in_body, in_chunk_size, in_chunk, after_chunk, in_trailer, opaque } state;
    char line[line_max];
    size_t length;
    uint64_t body;
    bool is_first_line, is_chunked;
    char method[method_size], target[line_max];
};

struct end {
    int descriptor;
    /// The events that epoll was asked for.
    uint32_t events;
    bool is_known, has_hung_up;
    struct connection *connection;
};

/// One direction of a connection.
struct way {
    struct end *from, *to;
    struct chunk *first, *last;
    size_t queued;
    /// When the last byte that was taken has left at the rate.
    int64_t departed;
    /// When the end of the stream arrives, or -1 as long as it has not been seen.
    int64_t end_due;
    bool is_blocked, is_over;
    /// Whether the last reads found more bytes than a chunk can hold.
    bool is_bulk;
    /// For bytes that are not looked at; -1 as long as there were none.
    int pipe[2];
    struct parser *parser;
};

struct connection {
    struct connection *next, **link;
    uint64_t number;
    struct end client, server;
    struct way up, down;
    int64_t opened;
    bool is_connected;
};

static struct settings settings = {.has_handshake = true};
static struct counts counts;
static struct connection *connections;
static struct chunk *spare_chunks;
static size_t queued_max;
static int poller;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("delay-proxy: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

// MARK: Counting

static void count_request(struct connection *connection) {
    struct parser *parser = connection->up.parser;
    counts.requests++;
    for (int index = 0; index < methods_max; index++) {
        if (!counts.methods[index].count) {
            memcpy(counts.methods[index].name, parser->method, method_size);
        }
        if (strcmp(counts.methods[index].name, parser->method)) continue;
        counts.methods[index].count++;
        break;
    }
    if (settings.log) {
        double seconds = (double)(now() - counts.started) / (double)second;
        fprintf(settings.log, "%.6f %lu %s %s\n", seconds, (unsigned long)connection->number,
                parser->method, parser->target);
    }
}

/// Reads the first line of a request; anything else, such as TLS, is not looked at any more.
static void parse_request_line(struct parser *parser) {
    char version[line_max];
    int length = 0;
    int found = sscanf(parser->line, "%15[A-Z] %16383s %16383s%n", parser->method, parser->target,
                       version, &length);
    if (found != 3 || strncmp(version, "HTTP/1.", 7)) parser->state = opaque;
    parser->is_first_line = false;
    parser->is_chunked = false;
    parser->body = 0;
}

/// Handles a whole line, which is ended by a zero and has no line break.
static void parse_line(struct connection *connection) {
    struct parser *parser = connection->up.parser;
    const char *line = parser->line;
    switch (parser->state) {
    case in_head:
        if (parser->is_first_line) {
            // Empty lines before a request are allowed.
            if (*line) parse_request_line(parser);
        } else if (!strncasecmp(line, "content-length:", 15)) {
            parser->body = strtoull(line + 15, NULL, 10);
        } else if (!strncasecmp(line, "transfer-encoding:", 18)) {
            parser->is_chunked = strcasestr(line + 18, "chunked");
        } else if (!*line) {
            count_request(connection);
            parser->is_first_line = true;
            parser->state = parser->is_chunked ? in_chunk_size : parser->body ? in_body : in_head;
        }
        break;
    case in_chunk_size:
        parser->body = strtoull(line, NULL, 16);
        parser->state = parser->body ? in_chunk : in_trailer;
        break;
    case after_chunk: parser->state = in_chunk_size; break;
    case in_trailer:
        if (!*line) parser->state = in_head;
        break;
    default: break;
    }
}

/// How many of the next bytes need not be looked at.
static size_t unparsed(const struct parser *parser) {
    if (!parser || parser->state == opaque) return SIZE_MAX;
    bool is_body = parser->state == in_body || parser->state == in_chunk;
    return is_body ? (size_t)parser->body : 0;
}

/// Follows bytes; null stands for some of a body.
static void parse(struct connection *connection, const char *bytes, size_t count) {
    struct parser *parser = connection->up.parser;
    const char *end = bytes ? bytes + count : NULL;
    while ((!bytes || bytes < end) && parser->state != opaque) {
        size_t rest = bytes ? (size_t)(end - bytes) : count;
        if (parser->state == in_body || parser->state == in_chunk) {
            size_t part = parser->body < rest ? (size_t)parser->body : rest;
            parser->body -= part;
            if (!parser->body) parser->state = parser->state == in_body ? in_head : after_chunk;
            if (!bytes) break;
            bytes += part;
            continue;
        }
        const char *newline = memchr(bytes, '\n', rest);
        size_t part = newline ? (size_t)(newline - bytes) : rest;
        if (parser->length + part >= line_max) {
            parser->state = opaque;
            break;
        }
        memcpy(parser->line + parser->length, bytes, part);
        parser->length += part;
        bytes += part;
        if (!newline) break;
        bytes++;
        if (parser->length && parser->line[parser->length - 1] == '\r') parser->length--;
        parser->line[parser->length] = 0;
        parser->length = 0;
        parse_line(connection);
    }
}

static void print_counts(void) {
    printf("{\"seconds\": %.3f, \"connections\": %lu, \"connections_max\": %lu, \"bytes_up\": %lu, "
           "\"bytes_down\": %lu, \"requests\": %lu, \"methods\": {",
           (double)(now() - counts.started) / (double)second, (unsigned long)counts.connections,
           (unsigned long)counts.open_max, (unsigned long)counts.bytes_up,
           (unsigned long)counts.bytes_down, (unsigned long)counts.requests);
    for (int index = 0; index < methods_max && counts.methods[index].count; index++) {
        printf("%s\"%s\": %lu", index ? ", " : "", counts.methods[index].name,
               (unsigned long)counts.methods[index].count);
    }
    printf("}}\n");
    fflush(stdout);
    if (settings.log) fflush(settings.log);
}

// MARK: The delay line

static struct chunk *take_chunk(void) {
    struct chunk *chunk = spare_chunks;
    if (chunk) {
        spare_chunks = chunk->next;
    } else {
        chunk = malloc(sizeof *chunk);
        if (!chunk) die("out of memory");
    }
    chunk->next = NULL;
    chunk->start = chunk->end = 0;
    chunk->is_spliced = false;
    return chunk;
}

static void give_back(struct chunk *chunk) {
    chunk->next = spare_chunks;
    spare_chunks = chunk;
}

/// Puts the bytes of a chunk onto the network.
static void depart(struct way *way, struct chunk *chunk) {
    struct connection *connection = way->from->connection;
    size_t count = chunk->end;
    int64_t time = now();
    if (way == &connection->up) {
        int64_t usable = connection->opened + (settings.has_handshake ? settings.rtt : 0);
        if (time < usable) time = usable;
        counts.bytes_up += count;
        parse(connection, chunk->is_spliced ? NULL : chunk->bytes, count);
    } else {
        counts.bytes_down += count;
    }
    if (way->departed < time) way->departed = time;
    if (settings.rate > 0) {
        way->departed += (int64_t)((double)count / settings.rate * (double)second);
    }
    chunk->due = way->departed + settings.rtt / 2;
    if (chunk->due > time) chunk->due = (chunk->due + tick / 2) / tick * tick;
    if (way->last) way->last->next = chunk;
    else way->first = chunk;
    way->last = chunk;
    way->queued += count;
}

/// Ends a direction whose receiver is gone: its bytes are dropped.
static void drop(struct way *way) {
    while (way->first) {
        struct chunk *chunk = way->first;
        way->first = chunk->next;
        give_back(chunk);
    }
    way->last = NULL;
    way->queued = 0;
    way->is_over = true;
    if (way->pipe[0] < 0) return;
    close(way->pipe[0]);
    close(way->pipe[1]);
    way->pipe[0] = way->pipe[1] = -1;
}

static bool wants_more(const struct way *way) {
    return !way->is_over && way->end_due < 0 && way->queued < queued_max;
}

/// Moves bytes to the pipe; false if there are none, or it is full.
static bool splice_chunk(struct way *way, struct chunk *chunk) {
    size_t most = unparsed(way->parser);
    if (!way->is_bulk || most < chunk_size) return false;
    if (most > splice_max) most = splice_max;
    if (way->pipe[0] < 0) {
        if (pipe2(way->pipe, O_NONBLOCK | O_CLOEXEC)) return false;
        fcntl(way->pipe[1], F_SETPIPE_SZ, pipe_size);
    }
    ssize_t count = splice(way->from->descriptor, NULL, way->pipe[1], NULL, most,
                           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (count <= 0) return false;
    chunk->end = (size_t)count;
    chunk->is_spliced = true;
    return true;
}

/// Takes bytes as long as there are any and the delay line has room.
static void take_bytes(struct way *way) {
    // Others are served between, unless no event would come for the rest.
    for (int turns = 4; wants_more(way) && (turns > 0 || way->from->has_hung_up); turns--) {
        struct chunk *chunk = take_chunk();
        if (splice_chunk(way, chunk)) {
            depart(way, chunk);
            continue;
        }
        ssize_t count = recv(way->from->descriptor, chunk->bytes, chunk_size, 0);
        if (count > 0) {
            chunk->end = (size_t)count;
            depart(way, chunk);
            way->is_bulk = count == chunk_size;
            if (!way->is_bulk && !way->from->has_hung_up) return;
            continue;
        }
        way->is_bulk = false;
        give_back(chunk);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        int64_t time = now();
        if (time < way->departed) time = way->departed;
        way->end_due = time + settings.rtt / 2;
    }
}

/// Delivers what has arrived by `time`.
static void deliver(struct way *way, int64_t time) {
    while (way->first && way->first->due <= time && !way->is_blocked) {
        struct chunk *chunk = way->first;
        size_t rest = chunk->end - chunk->start;
        ssize_t count = chunk->is_spliced
            ? splice(way->pipe[0], NULL, way->to->descriptor, NULL, rest,
                     SPLICE_F_MOVE | SPLICE_F_NONBLOCK)
            : send(way->to->descriptor, chunk->bytes + chunk->start, rest,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) way->is_blocked = true;
            else drop(way);
            return;
        }
        way->queued -= (size_t)count;
        chunk->start += (size_t)count;
        if (chunk->start < chunk->end) continue;
        way->first = chunk->next;
        if (!way->first) way->last = NULL;
        give_back(chunk);
    }
    if (!way->first && !way->is_over && way->end_due >= 0 && way->end_due <= time) {
        shutdown(way->to->descriptor, SHUT_WR);
        way->is_over = true;
    }
}

/// The time at which something arrives, or the maximum.
static int64_t next_due(const struct way *way) {
    if (way->is_over || way->is_blocked) return INT64_MAX;
    if (way->first) return way->first->due;
    return way->end_due >= 0 ? way->end_due : INT64_MAX;
}

// MARK: Connections

static void watch(struct end *end, const struct way *in, const struct way *out) {
    if (end->has_hung_up) return;
    bool awaits_connect = !end->connection->is_connected;
    uint32_t events = (wants_more(in) ? EPOLLIN : 0u);
    if (out->is_blocked || (awaits_connect && end == &end->connection->server)) events |= EPOLLOUT;
    if (end->is_known && end->events == events) return;
    struct epoll_event event = {.events = events, .data.ptr = end};
    epoll_ctl(poller, end->is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, end->descriptor, &event);
    end->is_known = true;
    end->events = events;
}

static void close_connection(struct connection *connection) {
    drop(&connection->up);
    drop(&connection->down);
    close(connection->client.descriptor);
    close(connection->server.descriptor);
    *connection->link = connection->next;
    if (connection->next) connection->next->link = connection->link;
    free(connection->up.parser);
    free(connection);
    counts.open--;
}

static void accept_connection(int listener) {
    int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const struct sockaddr *target = (const struct sockaddr *)&settings.target;
    if (server < 0 ||
        (connect(server, target, sizeof settings.target) && errno != EINPROGRESS)) {
        close(client);
        if (server >= 0) close(server);
        return;
    }
    struct connection *connection = calloc(1, sizeof *connection);
    struct parser *parser = calloc(1, sizeof *parser);
    if (!connection || !parser) die("out of memory");
    parser->is_first_line = true;
    connection->number = ++counts.connections;
    if (++counts.open > counts.open_max) counts.open_max = counts.open;
    connection->opened = now();
    connection->client = (struct end){.descriptor = client, .connection = connection};
    connection->server = (struct end){.descriptor = server, .connection = connection};
    connection->up = (struct way){
        .from = &connection->client, .to = &connection->server, .end_due = -1, .parser = parser,
        .pipe = {-1, -1},
        // Until the server has accepted.
        .is_blocked = true};
    connection->down = (struct way){
        .from = &connection->server, .to = &connection->client, .end_due = -1, .pipe = {-1, -1}};
    connection->next = connections;
    if (connections) connections->link = &connection->next;
    connection->link = &connections;
    connections = connection;
    watch(&connection->client, &connection->up, &connection->down);
    watch(&connection->server, &connection->down, &connection->up);
}

static void handle(struct end *end, uint32_t events) {
    struct connection *connection = end->connection;
    struct way *in = end == &connection->client ? &connection->up : &connection->down;
    struct way *out = end == &connection->client ? &connection->down : &connection->up;
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        if (end == &connection->server) connection->is_connected = true;
        out->is_blocked = false;
    }
    if (events & (EPOLLERR | EPOLLHUP)) {
        // The peer receives no more, but bytes that it sent before may wait. Watched on, such an
        // event would be repeated for ever.
        drop(out);
        end->has_hung_up = true;
        epoll_ctl(poller, EPOLL_CTL_DEL, end->descriptor, NULL);
    }
    take_bytes(in);
}

/// Delivers what is due everywhere, and returns when the next is, or the maximum.
static int64_t serve(void) {
    int64_t next = INT64_MAX, time = now();
    struct connection *following;
    for (struct connection *connection = connections; connection; connection = following) {
        following = connection->next;
        struct way *ways[] = {&connection->up, &connection->down};
        for (int index = 0; index < 2; index++) {
            if (next_due(ways[index]) <= time) deliver(ways[index], time);
            if (ways[index]->from->has_hung_up) take_bytes(ways[index]);
            int64_t due = next_due(ways[index]);
            if (due < next) next = due;
        }
        if (connection->up.is_over && connection->down.is_over) {
            close_connection(connection);
            continue;
        }
        watch(&connection->client, &connection->up, &connection->down);
        watch(&connection->server, &connection->down, &connection->up);
    }
    return next;
}

// MARK: Settings

static struct sockaddr_in parse_address(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    if (sscanf(text, "%63[^:]:%u", host, &port) != 2 || port > 65535 ||
        inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        die("%s is not ADDRESS:PORT, such as 127.0.0.1:8080", text);
    }
    address.sin_port = htons((uint16_t)port);
    return address;
}

/// Reads a number with one of the units.
static double parse_amount(
    const char *text, const char *const units[], const double factors[], const char *example) {
    char *unit;
    double amount = strtod(text, &unit);
    for (int index = 0; unit != text && amount >= 0 && units[index]; index++) {
        if (!strcmp(unit, units[index])) return amount * factors[index];
    }
    die("%s is not an amount such as %s", text, example);
    return 0;
}

static int64_t parse_time(const char *text) {
    static const char *const units[] = {"us", "ms", "s", "", NULL};
    static const double factors[] = {1e3, 1e6, 1e9, 1e9};
    return (int64_t)parse_amount(text, units, factors, "20ms");
}

static double parse_rate(const char *text) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "B", "", NULL};
    static const double factors[] = {1024, 1048576, 1073741824, 1, 1};
    return parse_amount(text, units, factors, "47.7MiB");
}

static void print_usage(void) {
    puts("usage: delay-proxy --target ADDRESS:PORT [--listen ADDRESS:PORT] [--rtt 20ms] "
         "[--rate 47.7MiB] [--no-handshake] [--log FILE]\n"
         "SIGUSR1 prints counts as JSON, SIGTERM too and ends it.");
}

static struct sockaddr_in read_settings(int count, char **arguments) {
    static const struct option options[] = {
        {"target", required_argument, NULL, 't'}, {"listen", required_argument, NULL, 'l'},
        {"rtt", required_argument, NULL, 'r'},    {"rate", required_argument, NULL, 'c'},
        {"no-handshake", no_argument, NULL, 'n'}, {"log", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    struct sockaddr_in listen_at = parse_address("127.0.0.1:0");
    int option;
    while ((option = getopt_long(count, arguments, "h", options, NULL)) != -1) {
        switch (option) {
        case 't': settings.target = parse_address(optarg); break;
        case 'l': listen_at = parse_address(optarg); break;
        case 'r': settings.rtt = parse_time(optarg); break;
        case 'c': settings.rate = parse_rate(optarg); break;
        case 'n': settings.has_handshake = false; break;
        case 'f':
            settings.log = fopen(optarg, "ae");
            if (!settings.log) die("cannot open %s: %s", optarg, strerror(errno));
            break;
        case 'h': print_usage(); exit(0);
        default: print_usage(); exit(2);
        }
    }
    if (!settings.target.sin_port || optind != count) {
        print_usage();
        exit(2);
    }
    return listen_at;
}

static int listen_on(struct sockaddr_in address) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    socklen_t length = sizeof address;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024) ||
        getsockname(listener, (struct sockaddr *)&address, &length)) {
        die("cannot listen: %s", strerror(errno));
    }
    printf("{\"port\": %u}\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static int signal_descriptor(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

/// Waits for events until `due`.
static int wait_until(int64_t due, struct epoll_event *events, int count) {
    if (due == INT64_MAX) return epoll_wait(poller, events, count, -1);
    int64_t rest = due - now();
    if (rest < 0) rest = 0;
    struct timespec timeout = {.tv_sec = rest / second, .tv_nsec = rest % second};
    return epoll_pwait2(poller, events, count, &timeout, NULL);
}

int main(int count, char **arguments) {
    int signals = signal_descriptor();
    int listener = listen_on(read_settings(count, arguments));
    struct rlimit files;
    // Splicing into a closed connection would end the process.
    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1000ul);
    double rate = settings.rate > 0 ? settings.rate : 1073741824;
    queued_max = (size_t)(rate * (double)settings.rtt / 2 / (double)second) + slack;
    counts.started = now();
    poller = epoll_create1(EPOLL_CLOEXEC);
    int own[] = {signals, listener};
    for (int index = 0; index < 2; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &own[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, own[index], &event);
    }
    struct epoll_event events[256];
    for (;;) {
        int ready = wait_until(serve(), events, 256);
        for (int index = 0; index < ready; index++) {
            void *source = events[index].data.ptr;
            if (source == &own[0]) {
                struct signalfd_siginfo signal;
                if (read(signals, &signal, sizeof signal) != sizeof signal) continue;
                print_counts();
                if (signal.ssi_signo != SIGUSR1) return 0;
            } else if (source == &own[1]) {
                accept_connection(listener);
            } else {
                handle(source, events[index].events);
            }
        }
    }
}
