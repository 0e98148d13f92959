import GRDB

/// The tables of a mount's database. See `docs/formats.md`.
enum Schema {
    /// Versions before the first release called their migrations "1" to "9".
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { database in try database.execute(sql: tables) }
        return migrator
    }

    private static let tables = """
        -- The local state of each inode. made_here: of a symbolic link, whether a local program
        -- made it.
        CREATE TABLE inodes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind INTEGER NOT NULL,
            mode INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            links INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            target BLOB,
            presence INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            writing INTEGER NOT NULL,
            listed INTEGER NOT NULL,
            accessed INTEGER NOT NULL,
            has_metadata INTEGER NOT NULL DEFAULT 1,
            made_here INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX inodes_unlinked ON inodes (id) WHERE links = 0;
        CREATE INDEX inodes_writing ON inodes (id) WHERE writing = 1;
        CREATE INDEX inodes_present ON inodes (accessed, size) WHERE presence > 0;

        -- The local names. A cookie is a place in its directory's listing, never used twice.
        CREATE TABLE dirents (
            cookie INTEGER PRIMARY KEY AUTOINCREMENT,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            inode INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX dirents_by_name ON dirents (parent, name);
        CREATE INDEX dirents_by_cookie ON dirents (parent, cookie);
        CREATE INDEX dirents_by_inode ON dirents (inode);

        -- The local extended attributes, see `ExtendedAttributes.encoded`; no row if there are none.
        CREATE TABLE xattrs (inode INTEGER PRIMARY KEY, attributes BLOB NOT NULL);

        -- The local bytes of files whose presence is partial.
        CREATE TABLE extents (
            inode INTEGER NOT NULL,
            start INTEGER NOT NULL,
            stop INTEGER NOT NULL,
            PRIMARY KEY (inode, start)
        ) WITHOUT ROWID;

        -- Files whose local bytes may not survive a power cut. state: 0 not on the disk, 1 on the
        -- way there, 2 there. fsynced: a program had it synchronised since the last upload.
        CREATE TABLE unsynced (
            inode INTEGER PRIMARY KEY,
            state INTEGER NOT NULL,
            fsynced INTEGER NOT NULL
        );

        -- Files deleted on the remote whose bytes are to go to the trash.
        CREATE TABLE discarded (
            inode INTEGER PRIMARY KEY,
            name BLOB NOT NULL,
            time INTEGER NOT NULL
        );

        -- The state last agreed on by both sides, and so the names on the remote.
        -- remote_modified: the last write of a file on the remote, as a listing reports it.
        -- path_before_move: the local path that an inode had when it got a temporary name there.
        CREATE TABLE synced (
            inode INTEGER PRIMARY KEY,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            etag TEXT,
            size INTEGER NOT NULL,
            mode INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            xattrs BLOB NOT NULL,
            remote_modified INTEGER,
            path_before_move BLOB
        );
        CREATE UNIQUE INDEX synced_by_name ON synced (parent, name);

        -- The object seen on the remote in an inode's place, if it is not the agreed one and could
        -- not be applied at once. held: a deletion that waits for a confirmation.
        CREATE TABLE remote (
            inode INTEGER PRIMARY KEY,
            gone INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            etag TEXT,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            mode INTEGER,
            target BLOB,
            held INTEGER NOT NULL DEFAULT 0,
            has_metadata INTEGER NOT NULL DEFAULT 1,
            xattrs BLOB
        );
        CREATE INDEX remote_held ON remote (inode) WHERE held = 1;

        -- Inodes whose three states may differ, and the failure of the last attempt. reported: a
        -- program was told of it.
        CREATE TABLE pending (
            inode INTEGER PRIMARY KEY,
            since INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            kind TEXT,
            what TEXT,
            why TEXT,
            remedy TEXT,
            final INTEGER,
            reported INTEGER NOT NULL DEFAULT 0
        );

        -- Changes requested from the remote whose outcome is unknown. digest: the SHA-256 of the
        -- sent bytes, if the store may hold them without their time.
        CREATE TABLE intents (
            inode INTEGER PRIMARY KEY,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            size INTEGER NOT NULL,
            mode INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            replaced INTEGER,
            digest BLOB,
            xattrs BLOB NOT NULL
        );
        CREATE INDEX intents_by_name ON intents (parent, name);

        -- Uploads that can be resumed: the bytes, their key, and the version that they replace.
        CREATE TABLE uploads (
            inode INTEGER PRIMARY KEY,
            generation INTEGER NOT NULL,
            key BLOB NOT NULL,
            base TEXT,
            token TEXT NOT NULL
        );

        -- Versions that lost their name to the remote's version, and are kept beside it.
        CREATE TABLE conflicts (
            inode INTEGER PRIMARY KEY,
            original BLOB NOT NULL,
            since INTEGER NOT NULL
        );

        CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        """
}
