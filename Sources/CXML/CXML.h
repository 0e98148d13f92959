// libxml2's push parser, with the few events that a reader of listings needs.
//
// Whoever opens a parser owns it and closes it, once. Events arrive during `apus_xml_feed`, on its
// thread; no pointer handed to them outlives the event. A document type declaration is announced and
// never acted upon: no entity but the five of XML itself is ever expanded, nothing is ever loaded.
#pragma once
#include <libxml/xmlversion.h>
// ICU comes with Foundation too, in another version; nothing here needs its converters.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

struct apus_xml_events {
    // `space` is the name space's URI, NULL where there is none.
    void (*start)(void *context, const char *name, const char *space);
    void (*end)(void *context);
    void (*text)(void *context, const char *bytes, int count);
    void (*doctype)(void *context);
};

struct apus_xml {
    xmlParserCtxtPtr parser;
    struct apus_xml_events events;
    void *context;
};

static void apus_xml_on_start(
    void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *space,
    int space_count, const xmlChar **spaces, int attribute_count, int defaulted_count,
    const xmlChar **attributes
) {
    struct apus_xml *xml = data;
    xml->events.start(xml->context, (const char *)name, (const char *)space);
}

static void apus_xml_on_end(
    void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *space
) {
    struct apus_xml *xml = data;
    xml->events.end(xml->context);
}

static void apus_xml_on_text(void *data, const xmlChar *bytes, int count) {
    struct apus_xml *xml = data;
    xml->events.text(xml->context, (const char *)bytes, count);
}

static void apus_xml_on_doctype(
    void *data, const xmlChar *name, const xmlChar *public_id, const xmlChar *system_id
) {
    struct apus_xml *xml = data;
    xml->events.doctype(xml->context);
    xmlStopParser(xml->parser);
}

// Returns NULL where there is no memory.
static inline struct apus_xml *apus_xml_open(struct apus_xml_events events, void *context) {
    struct apus_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    xmlSAXHandler handler;
    memset(&handler, 0, sizeof handler);
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElementNs = apus_xml_on_start;
    handler.endElementNs = apus_xml_on_end;
    handler.characters = apus_xml_on_text;
    handler.cdataBlock = apus_xml_on_text;
    handler.internalSubset = apus_xml_on_doctype;
    xml->events = events;
    xml->context = context;
    xml->parser = xmlCreatePushParserCtxt(&handler, xml, NULL, 0, NULL);
    if (!xml->parser) {
        free(xml);
        return NULL;
    }
    xmlCtxtUseOptions(xml->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    return xml;
}

// Parses on. Returns 0 while the document is well formed, then libxml2's error code.
static inline int apus_xml_feed(
    struct apus_xml *xml, const char *bytes, int count, int is_last
) {
    int code = xmlParseChunk(xml->parser, bytes, count, is_last);
    // A parser that was stopped answers 0.
    if (code == 0 && xml->parser->disableSAX)
        return -1;
    return code;
}

static inline void apus_xml_stop(struct apus_xml *xml) { xmlStopParser(xml->parser); }

static inline void apus_xml_close(struct apus_xml *xml) {
    xmlFreeParserCtxt(xml->parser);
    free(xml);
}
