/// What real servers have answered, shortened, for tests that damage it.
enum RealAnswers {
    private static func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    /// Answers to PROPFIND with depth 1: Apache 2.4.71, rclone 1.75.2, and what Nextcloud documents;
    /// the last has locks in it, and what is not to be mistaken for a name.
    static let multistatus = bytes([
        """
        <?xml version="1.0" encoding="utf-8"?>
        <D:multistatus xmlns:D="DAV:" xmlns:ns2="urn:apus:webdav" xmlns:ns0="DAV:">
        <D:response xmlns:lp1="DAV:" xmlns:g0="DAV:" xmlns:g1="urn:apus:webdav">
        <D:href>/dav/</D:href>
        <D:propstat><D:prop><lp1:resourcetype><D:collection/></lp1:resourcetype>
        <lp1:getetag>W/"1000-660ca9e6f55f6"</lp1:getetag>
        <lp1:getlastmodified>Sat, 21 Nov 2026 15:00:18 GMT</lp1:getlastmodified></D:prop>
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat>
        <D:propstat><D:prop><g0:getcontentlength/><g1:attributes/></D:prop>
        <D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
        <D:response xmlns:lp1="DAV:" xmlns:g0="urn:apus:webdav"><D:href>/dav/F%c3%bc&amp;%20b</D:href>
        <D:propstat><D:prop><lp1:resourcetype/><lp1:getetag>W/"3-660ca9e6b7d96"</lp1:getetag>
        <lp1:getcontentlength>3</lp1:getcontentlength>
        <lp1:getlastmodified>Sat, 21 Nov 2026 15:00:17 GMT</lp1:getlastmodified></D:prop>
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
        <D:response xmlns:lp1="DAV:" xmlns:ns1="urn:apus:webdav"><D:href>/dav/a</D:href>
        <D:propstat><D:prop><lp1:resourcetype/><lp1:getetag>"5-6"</lp1:getetag>
        <lp1:getcontentlength>3</lp1:getcontentlength>
        <lp1:getlastmodified>Sat, 21 Nov 2026 15:00:17 GMT</lp1:getlastmodified>
        <ns1:attributes>mode=644 modified=1600000000.123456789 of=%225-6%22 xattr=user.a:b</ns1:attributes>
        </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
        <D:response xmlns:lp1="DAV:" xmlns:ns1="urn:apus:webdav"><D:href>/dav/link</D:href>
        <D:propstat><D:prop><lp1:resourcetype/><lp1:getetag>"1-7"</lp1:getetag>
        <lp1:getcontentlength>0</lp1:getcontentlength>
        <ns1:attributes>mode=777 modified=-5.000000001 of=%221-7%22 target=..%2Fa</ns1:attributes>
        </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
        </D:multistatus>
        """,
        """
        <?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:"><D:response>\
        <D:href>/dav/</D:href><D:propstat><D:prop><D:resourcetype><D:collection xmlns:D="DAV:"/>\
        </D:resourcetype><D:getlastmodified>Sat, 21 Nov 2026 15:00:15 GMT</D:getlastmodified></D:prop>\
        <D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getetag></D:getetag>\
        <D:getcontentlength></D:getcontentlength><attributes xmlns="urn:apus:webdav"></attributes>\
        </D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response><D:response>\
        <D:href>/dav/F%C3%BC&amp;%20b</D:href><D:propstat><D:prop><D:resourcetype></D:resourcetype>\
        <D:getetag>"18ea177ad3e294283"</D:getetag><D:getcontentlength>3</D:getcontentlength>\
        <D:getlastmodified>Sat, 21 Nov 2026 15:00:17 GMT</D:getlastmodified></D:prop><D:status>\
        HTTP/1.1 200 OK</D:status></D:propstat></D:response><D:response><D:href>/dav/d/</D:href>\
        <D:propstat><D:prop><D:resourcetype><D:collection xmlns:D="DAV:"/></D:resourcetype>\
        <D:getlastmodified>Sat, 21 Nov 2026 15:00:17 GMT</D:getlastmodified></D:prop><D:status>\
        HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
        """,
        """
        <?xml version="1.0"?>
        <d:multistatus xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns" xmlns:oc="http://owncloud.org/ns">
        <d:response><d:href>/dav/</d:href><d:propstat><d:prop><d:resourcetype><d:collection/>
        </d:resourcetype><d:getetag>&quot;5f1c&quot;</d:getetag>
        <d:quota-available-bytes>-3</d:quota-available-bytes><oc:permissions>RGDNVCK</oc:permissions>
        </d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>
        <d:response><d:href>/dav/Photos/</d:href><d:propstat><d:prop><d:resourcetype><d:collection/>
        </d:resourcetype><oc:permissions>SRGDNV</oc:permissions></d:prop>
        <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>
        <d:response><d:href>/dav/lent</d:href><d:propstat><d:prop><d:resourcetype/>
        <d:getetag>&quot;6a0b&quot;</d:getetag><d:getcontentlength>1234</d:getcontentlength>
        <d:getlastmodified>Fri, 20 Nov 2026 08:09:57 GMT</d:getlastmodified>
        <oc:permissions>SRGNV</oc:permissions></d:prop><d:status>HTTP/1.1 200 OK</d:status>
        </d:propstat></d:response></d:multistatus>
        """,
        """
        <multistatus xmlns="DAV:" xmlns:A="urn:apus:webdav"><response><href>/dav</href><propstat><prop>
        <resourcetype><collection/></resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat>
        </response><response><href> http://h/dav/a%20&amp;&#98; </href><propstat><prop>
        <getetag><![CDATA["5-6"]]></getetag><getcontentlength>5</getcontentlength><resourcetype/>
        <getlastmodified>Saturday, 21-Nov-26 08:09:57 GMT</getlastmodified>
        <other xmlns="urn:x"><href>/no</href></other><lockdiscovery><activelock><locktoken>
        <href>opaquelocktoken:1</href></locktoken><lockroot><href>/no</href></lockroot></activelock>
        </lockdiscovery></prop><status>HTTP/1.1 200 OK</status></propstat></response>
        <response><href>/dav/gone</href><status>HTTP/1.1 404 Not Found</status></response>
        <response><href>/dav/b</href><propstat><prop><getetag>"1"</getetag>
        <getcontentlength>2</getcontentlength></prop>
        <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>
        """,
    ])

    /// Answers to ListObjectsV2 below `p/`: SeaweedFS 4.48, and what AWS documents.
    static let listings = bytes([
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>\
        <Prefix>p/</Prefix><MaxKeys>3</MaxKeys><Delimiter>/</Delimiter><IsTruncated>true</IsTruncated>\
        <Contents><Key>p/F%C3%BC</Key><ETag>&#34;6520213d3695a344f306efffa2523807&#34;</ETag>\
        <Size>3</Size><StorageClass>STANDARD</StorageClass>\
        <LastModified>2026-11-21T15:00:31Z</LastModified></Contents><Contents><Key>p/a%2Bb+c</Key>\
        <ETag>&#34;6520213d3695a344f306efffa2523807&#34;</ETag><Size>3</Size>\
        <StorageClass>STANDARD</StorageClass><LastModified>2026-11-21T15:00:30Z</LastModified>\
        </Contents><CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes>\
        <NextContinuationToken>p/c/</NextContinuationToken><EncodingType>url</EncodingType>\
        <KeyCount>3</KeyCount></ListBucketResult>
        """,
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
          <Name>bucket</Name><Prefix>p%2F</Prefix><EncodingType>url</EncodingType>
          <IsTruncated>false</IsTruncated>
          <Contents><Key>p/</Key><Size>0</Size><ETag>"d41d8cd98f00b204e9800998ecf8427e"</ETag></Contents>
          <Contents><Key>p/c</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>
            <ETag>&quot;fba9dede5f27731c9771645a39863328-7&quot;</ETag><Size>434234</Size></Contents>
          <Contents><Key>p/x_$folder$</Key><ETag>"1"</ETag><Size>0</Size></Contents>
          <CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes>
        </ListBucketResult>
        """,
    ])

    /// Bodies of refusals: SeaweedFS, SabreDAV, Apache, a condition of RFC 4918, and no XML at all.
    static let refusals = bytes([
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message>\
        <Resource>/bucket/none</Resource><RequestId>18EA177E2621F6B7DADFF834</RequestId>\
        <Key>none</Key><BucketName>bucket</BucketName><Region>eu-central-1</Region></Error>
        """,
        """
        <?xml version="1.0" encoding="utf-8"?>
        <d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">
          <s:exception>Sabre\\DAV\\Exception\\Forbidden</s:exception>
          <s:message>The file is locked by somebody else</s:message>
        </d:error>
        """,
        """
        <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
        <html><head>
        <title>409 Conflict</title>
        </head><body>
        <h1>Conflict</h1>
        <p>The server encountered an internal error or
        misconfiguration and was unable to complete
        your request.</p>
        </body></html>
        """,
        """
        <?xml version="1.0" encoding="utf-8"?><D:error xmlns:D="DAV:"><D:lock-token-submitted>
        <D:href>/dav/a</D:href></D:lock-token-submitted></D:error>
        """,
        "Forbidden",
    ])

    /// Headers of Apache, rclone, SeaweedFS and a busy server, with the line ends that they came with.
    static let headers = [
        """
        HTTP/1.1 206 Partial Content
        Date: Sat, 21 Nov 2026 15:00:18 GMT
        Server: Apache/2.4.71 (Debian)
        Last-Modified: Sat, 21 Nov 2026 15:00:17 GMT
        ETag: W/"3-660ca9e6979f6"
        Accept-Ranges: bytes
        Content-Length: 3
        Content-Range: bytes 0-2/3

        """,
        """
        HTTP/1.1 200 OK
        Date: Sat, 21 Nov 2026 15:00:19 GMT
        Server: Apache/2.4.71 (Debian)
        DAV: 1,2
        DAV: <http://apache.org/dav/propset/fs/1>
        MS-Author-Via: DAV
        Allow: OPTIONS,GET,HEAD,POST,DELETE,TRACE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,UNLOCK
        Content-Length: 0

        """,
        """
        HTTP/1.1 200 OK
        Accept-Ranges: bytes
        Content-Length: 3
        Content-Type: text/plain; charset=utf-8
        Etag: "6520213d3695a344f306efffa2523807"
        Last-Modified: Sat, 21 Nov 2026 15:00:30 GMT
        Seaweed-X-Amz-Owner: admin
        Server: SeaweedFS 8000GB 4.48
        X-Amz-Meta-mode: 33188
        X-Amz-Meta-mtime: 1600000000.123456789
        X-Amz-Meta-xattr: {"user.a":"YQ=="}
        X-Amz-Request-Id: 18EA177E065462D53BBBADE7
        Date: Sat, 21 Nov 2026 15:00:31 GMT

        """,
        """
        HTTP/1.1 200 OK
        Content-Length: 0
        Content-Type: application/x-directory; mode=16877; mtime=1600000000.5
        Etag: "d41d8cd98f00b204e9800998ecf8427e"
        Last-Modified: Sat, 21 Nov 2026 15:00:30 GMT
        X-Amz-Meta-Mode: 41471
        X-Amz-Meta-Apus-Target: ..%2Fa
        Date: Sat, 21 Nov 2026 15:00:31 GMT

        """,
        """
        HTTP/1.1 100 Continue

        HTTP/1.1 503 Service Unavailable
        Date: Sat, 21 Nov 2026 15:00:31 GMT
        Retry-After: 120
        DAV: 1, 3, extended-mkcol,
          oc-resource-sharing, nextcloud-checksum-update
        X-Amz-Bucket-Region: eu-central-1

        """,
    ].map { Array($0.replacing("\n", with: "\r\n").utf8) }
}
