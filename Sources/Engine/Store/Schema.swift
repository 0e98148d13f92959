import GRDB

/// The tables of a mount's database. See `docs/formats.md`.
enum Schema {
    static let migrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { database in try database.execute(sql: tables) }
        migrator.registerMigration("local_bytes") { try $0.execute(sql: localBytes) }
        migrator.registerMigration("durability") { database in
            try database.execute(sql: durability)
        }
        return migrator
    }()

    /// Whether a database has a format from before the first release. All of these had a table
    /// `attempts`, unless it was lost, and migrations named "1" to "9".
    static func isUnreleased(_ database: Database) throws -> Bool {
        try database.tableExists("attempts")
            || database.tableExists("grdb_migrations")
                && database.hasRow("grdb_migrations WHERE identifier BETWEEN '1' AND '9'")
    }

    // `apus check` repairs damaged rows that the constraints forbid.
    //
    // An inode that has a name here is not deleted, nor a directory that contains one; the rows of
    // other tables about an inode are deleted with it, except for an upload, which has to be
    // aborted. The parents in `synced` and `intents` are not foreign keys: a removed directory may
    // be forgotten before its remote descendants.
    private static let tables = """
        -- The local state of each inode. made_here: of a symbolic link, whether a local program
        -- made it.
        CREATE TABLE inodes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
            mode INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            links INTEGER NOT NULL CHECK (links >= 0),
            size INTEGER NOT NULL CHECK (size >= 0),
            modified INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            target BLOB,
            presence INTEGER NOT NULL CHECK (presence BETWEEN 0 AND 2),
            generation INTEGER NOT NULL CHECK (generation >= 0),
            writing INTEGER NOT NULL CHECK (writing IN (0, 1)),
            listed INTEGER NOT NULL CHECK (listed IN (0, 1)),
            accessed INTEGER NOT NULL,
            has_metadata INTEGER NOT NULL DEFAULT 1 CHECK (has_metadata IN (0, 1)),
            made_here INTEGER NOT NULL DEFAULT 0 CHECK (made_here IN (0, 1))
        );
        CREATE INDEX inodes_unlinked ON inodes (id) WHERE links = 0;
        CREATE INDEX inodes_writing ON inodes (id) WHERE writing = 1;
        CREATE INDEX inodes_present ON inodes (accessed, size) WHERE presence > 0;

        -- The local names. A cookie is a place in its directory's listing, never used twice.
        CREATE TABLE dirents (
            cookie INTEGER PRIMARY KEY AUTOINCREMENT,
            parent INTEGER NOT NULL REFERENCES inodes,
            name BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
            inode INTEGER NOT NULL REFERENCES inodes
        );
        CREATE UNIQUE INDEX dirents_by_name ON dirents (parent, name);
        CREATE INDEX dirents_by_cookie ON dirents (parent, cookie);
        CREATE INDEX dirents_by_inode ON dirents (inode);

        -- The local extended attributes, see `ExtendedAttributes.encoded`; no row if there are none.
        CREATE TABLE xattrs (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            attributes BLOB NOT NULL
        );

        -- The local bytes of files whose presence is partial.
        CREATE TABLE extents (
            inode INTEGER NOT NULL REFERENCES inodes ON DELETE CASCADE,
            start INTEGER NOT NULL CHECK (start >= 0),
            stop INTEGER NOT NULL CHECK (stop > start),
            PRIMARY KEY (inode, start)
        ) WITHOUT ROWID;

        -- Files whose local bytes may not survive a power cut. state: 0 not on the disk, 1 on the
        -- way there, 2 there. fsynced: a program had it synchronised since the last upload.
        CREATE TABLE unsynced (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            fsynced INTEGER NOT NULL CHECK (fsynced IN (0, 1))
        );

        -- Files deleted on the remote whose bytes are to go to the trash.
        CREATE TABLE discarded (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            name BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
            time INTEGER NOT NULL
        );

        -- The state last agreed on by both sides, and so the names on the remote.
        -- remote_modified: the last write of a file on the remote, as a listing reports it.
        -- path_before_move: the local path that an inode had when it got a temporary name there.
        CREATE TABLE synced (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
            etag TEXT,
            size INTEGER NOT NULL CHECK (size >= 0),
            mode INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
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
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            gone INTEGER NOT NULL CHECK (gone IN (0, 1)),
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
            etag TEXT,
            size INTEGER NOT NULL CHECK (size >= 0),
            modified INTEGER NOT NULL,
            mode INTEGER CHECK (mode BETWEEN 0 AND 4095),
            target BLOB,
            held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
            has_metadata INTEGER NOT NULL DEFAULT 1 CHECK (has_metadata IN (0, 1)),
            xattrs BLOB
        );
        CREATE INDEX remote_held ON remote (inode) WHERE held = 1;

        -- Inodes whose three states may differ, and the failure of the last attempt. reported: a
        -- program was told of it. due: when it is planned, in nanoseconds on the clock of `Agenda`;
        -- NULL if it waits for a user's decision. due_max: the limit of further postponements.
        -- blocked_by: another pending inode that it waits for.
        CREATE TABLE pending (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            since INTEGER NOT NULL,
            attempts INTEGER NOT NULL CHECK (attempts >= 0),
            kind TEXT,
            what TEXT,
            why TEXT,
            remedy TEXT,
            final INTEGER CHECK (final IN (0, 1)),
            reported INTEGER NOT NULL DEFAULT 0 CHECK (reported IN (0, 1)),
            due INTEGER DEFAULT 0,
            due_max INTEGER NOT NULL DEFAULT 0,
            blocked_by INTEGER REFERENCES pending ON DELETE SET NULL
        );
        CREATE INDEX pending_by_due ON pending (due) WHERE blocked_by IS NULL;
        CREATE INDEX pending_by_blocker ON pending (blocked_by) WHERE blocked_by NOT NULL;

        -- Changes requested from the remote whose outcome is unknown. digest: the SHA-256 of the
        -- sent bytes, if the store may hold them without their time.
        CREATE TABLE intents (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
            size INTEGER NOT NULL CHECK (size >= 0),
            mode INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
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
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            original BLOB NOT NULL CHECK (length(original) BETWEEN 1 AND 255),
            since INTEGER NOT NULL
        );

        CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        """

    // Triggers keep the sum, so that it is as exact as the rows whatever removes them.
    private static let localBytes = """
        -- The space that the content file of each inode takes on the disk, without holes, as last
        -- measured; no row if the inode has no local bytes.
        CREATE TABLE local_bytes (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            bytes INTEGER NOT NULL CHECK (bytes >= 0)
        );
        -- The sum of all of them, in one row.
        CREATE TABLE local_total (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            bytes INTEGER NOT NULL
        );
        INSERT INTO local_total VALUES (1, 0);
        CREATE TRIGGER local_bytes_added AFTER INSERT ON local_bytes BEGIN
            UPDATE local_total SET bytes = bytes + NEW.bytes;
        END;
        CREATE TRIGGER local_bytes_changed AFTER UPDATE OF bytes ON local_bytes BEGIN
            UPDATE local_total SET bytes = bytes + NEW.bytes - OLD.bytes;
        END;
        CREATE TRIGGER local_bytes_removed AFTER DELETE ON local_bytes BEGIN
            UPDATE local_total SET bytes = bytes - OLD.bytes;
        END;
        CREATE TRIGGER local_bytes_evicted AFTER UPDATE OF presence ON inodes
        WHEN NEW.presence = 0 AND OLD.presence <> 0 BEGIN
            DELETE FROM local_bytes WHERE inode = NEW.id;
        END;
        \(estimatedLocalBytes)
        """

    /// Adds missing rows of `local_bytes`, as if no file had holes.
    static let estimatedLocalBytes = """
        INSERT OR IGNORE INTO local_bytes
            SELECT id, size FROM inodes WHERE presence = 2 AND kind = 0;
        INSERT OR IGNORE INTO local_bytes
            SELECT id, sum(max(0, min(stop, size) - start)) FROM inodes
            JOIN extents ON extents.inode = inodes.id
            WHERE presence = 1 AND inodes.kind = 0 GROUP BY id;
        """

    private static let durability = """
        -- The file that gets its name back if a power cut takes the bytes of this one, which was
        -- renamed over it.
        ALTER TABLE unsynced ADD COLUMN replaced INTEGER;
        CREATE INDEX unsynced_by_replaced ON unsynced (replaced) WHERE replaced NOT NULL;
        """
}
