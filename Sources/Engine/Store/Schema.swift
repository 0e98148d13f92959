import GRDB

/// The tables of a mount's database, one migration per version. See `docs/formats.md`.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in try database.execute(sql: first) }
        migrator.registerMigration("2") { database in try database.execute(sql: second) }
        migrator.registerMigration("3") { database in try database.execute(sql: third) }
        migrator.registerMigration("4") { database in try database.execute(sql: fourth) }
        migrator.registerMigration("5") { database in try database.execute(sql: fifth) }
        migrator.registerMigration("6") { database in try database.execute(sql: sixth) }
        migrator.registerMigration("7") { database in try database.execute(sql: seventh) }
        migrator.registerMigration("8") { database in try database.execute(sql: eighth) }
        migrator.registerMigration("9") { database in try database.execute(sql: ninth) }
        migrator.registerMigration("10") { database in try database.execute(sql: tenth) }
        return migrator
    }

    private static let first = """
        -- What every inode is and holds on this machine (the local state).
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
            accessed INTEGER NOT NULL
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

        -- What both sides last agreed on, and so the names on the remote.
        CREATE TABLE synced (
            inode INTEGER PRIMARY KEY,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            etag TEXT,
            size INTEGER NOT NULL,
            mode INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            generation INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX synced_by_name ON synced (parent, name);

        -- What the remote was seen to hold in an inode's place, where that is not what was agreed
        -- and could not be applied at once.
        CREATE TABLE remote (
            inode INTEGER PRIMARY KEY,
            gone INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            etag TEXT,
            size INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            mode INTEGER,
            target BLOB
        );

        -- The inodes whose three states may differ: what the synchroniser has to look at.
        CREATE TABLE pending (
            inode INTEGER PRIMARY KEY,
            since INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            what TEXT,
            why TEXT,
            remedy TEXT,
            final INTEGER
        );

        -- The bytes that are here, of files whose presence is partial.
        CREATE TABLE extents (
            inode INTEGER NOT NULL,
            start INTEGER NOT NULL,
            stop INTEGER NOT NULL,
            PRIMARY KEY (inode, start)
        ) WITHOUT ROWID;

        CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        -- Versions that could not be brought together; kept beside each other.
        CREATE TABLE conflicts (
            inode INTEGER PRIMARY KEY,
            original BLOB NOT NULL,
            since INTEGER NOT NULL
        );

        -- Changes that the remote was asked for and whose answer is not known.
        CREATE TABLE attempts (
            inode INTEGER PRIMARY KEY,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            size INTEGER NOT NULL,
            mode INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            replaced INTEGER
        );
        CREATE INDEX attempts_by_name ON attempts (parent, name);
        """

    private static let second = """
        -- Uploads that can be taken up again: what was sent, to which key, over which version.
        CREATE TABLE uploads (
            inode INTEGER PRIMARY KEY,
            generation INTEGER NOT NULL,
            key BLOB NOT NULL,
            base TEXT,
            token TEXT NOT NULL
        );

        -- What kind of failure it was, and whether a program has been told of it.
        ALTER TABLE pending ADD COLUMN kind TEXT;
        ALTER TABLE pending ADD COLUMN told INTEGER NOT NULL DEFAULT 0;

        -- Whether a deletion seen on the remote waits for somebody to confirm it.
        ALTER TABLE remote ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX remote_held ON remote (inode) WHERE held = 1;

        -- Whether an inode has all that the remote knows of it; a listing may lack something.
        ALTER TABLE inodes ADD COLUMN detailed INTEGER NOT NULL DEFAULT 1;
        """

    private static let third = """
        -- Whether what was seen is all that the remote knows; a listing may lack something.
        ALTER TABLE remote ADD COLUMN detailed INTEGER NOT NULL DEFAULT 1;

        -- Files whose bytes here may not survive a power cut. state: 0 not on the disk, 1 on the way
        -- there, 2 there. kept: a program had it synchronised since the remote last got it.
        CREATE TABLE unsynced (
            inode INTEGER PRIMARY KEY,
            state INTEGER NOT NULL,
            kept INTEGER NOT NULL
        );
        """

    private static let fourth = """
        -- Of a symbolic link, whether a program of this machine made it. Of those that both sides
        -- have nobody knows any more.
        ALTER TABLE inodes ADD COLUMN made_here INTEGER NOT NULL DEFAULT 0;
        UPDATE inodes SET made_here = 1
            WHERE kind = 2 AND NOT EXISTS (SELECT 1 FROM synced WHERE synced.inode = inodes.id);
        """

    private static let fifth = """
        -- The SHA-256 of what an upload sent, where the store may hold it without its time.
        ALTER TABLE attempts ADD COLUMN digest BLOB;
        """

    private static let sixth = """
        -- The extended attributes that inodes have here, see `ExtendedAttributes.encoded`; no row
        -- where there are none.
        CREATE TABLE xattrs (inode INTEGER PRIMARY KEY, attributes BLOB NOT NULL);
        ALTER TABLE synced ADD COLUMN xattrs BLOB NOT NULL DEFAULT x'';
        ALTER TABLE attempts ADD COLUMN xattrs BLOB NOT NULL DEFAULT x'';
        ALTER TABLE remote ADD COLUMN xattrs BLOB;

        -- What the remote knows of those was not asked for so far.
        UPDATE inodes SET detailed = 0
            WHERE kind <> 2 AND id IN (SELECT inode FROM synced);
        """

    private static let seventh = """
        -- Files that the remote has deleted and whose bytes are to go to the trash: under which
        -- name, and when.
        CREATE TABLE discarded (
            inode INTEGER PRIMARY KEY,
            name BLOB NOT NULL,
            time INTEGER NOT NULL
        );
        """

    private static let eighth = """
        -- When the store last wrote a file, as a listing told it since both sides agreed; where a
        -- listing does not tell all. It changes with what it does not tell.
        ALTER TABLE synced ADD COLUMN written INTEGER;
        """

    private static let ninth = """
        -- The path here that an inode had when it last stepped aside on the remote: while it is
        -- there, people know what has no name here any more by that.
        ALTER TABLE synced ADD COLUMN former BLOB;
        """

    private static let tenth = """
        -- When an inode is planned, in nanoseconds on the clock of `Agenda`, and up to when further
        -- changes may postpone that; NULL if it waits for a user's decision. Whether it waits for
        -- another pending inode.
        ALTER TABLE pending ADD COLUMN due INTEGER DEFAULT 0;
        ALTER TABLE pending ADD COLUMN due_max INTEGER DEFAULT 0;
        ALTER TABLE pending ADD COLUMN blocked_by INTEGER;
        CREATE INDEX pending_by_due ON pending (due) WHERE blocked_by IS NULL;
        CREATE INDEX pending_by_blocker ON pending (blocked_by) WHERE blocked_by NOT NULL;
        """
}
