import GRDB

/// The tables of a mount's database. See `docs/formats.md`.
enum Schema {
    static let migrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { database in try database.execute(sql: tables) }
        migrator.registerMigration("local_bytes") { try $0.execute(sql: localBytes) }
        migrator.registerMigration("durability") { try $0.execute(sql: durability) }
        migrator.registerMigration("totals") { try $0.execute(sql: totals) }
        migrator.registerMigration("unstored") { try $0.execute(sql: unstored) }
        migrator.registerMigration("proofs") { try $0.execute(sql: proofs) }
        migrator.registerMigration("namesakes") { try $0.execute(sql: namesakes) }
        migrator.registerMigration("parents_before_move") { try $0.execute(sql: parentsBeforeMove) }
        migrator.registerMigration("evictable") { try $0.execute(sql: evictable) }
        migrator.registerMigration("pins") { try $0.execute(sql: pins) }
        migrator.registerMigration("changed_unsynced") { try $0.execute(sql: changedUnsynced) }
        migrator.registerMigration("trash") { try $0.execute(sql: trash) }
        migrator.registerMigration("history") { try $0.execute(sql: history) }
        migrator.registerMigration("excluded") { try $0.execute(sql: excluded) }
        migrator.registerMigration("eviction_order") { try $0.execute(sql: evictionOrder) }
        migrator.registerMigration("held_listings") { try $0.execute(sql: heldListings) }
        migrator.registerMigration("suspect_unsynced") { try $0.execute(sql: suspectUnsynced) }
        migrator.registerMigration("copies") { try $0.execute(sql: copies) }
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

        -- Files without a name whose bytes are to go to the trash.
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

    private static let localBytes = """
        -- The space that the content file of each inode takes on the disk, without holes, as last
        -- measured; no row if the inode has no local bytes.
        CREATE TABLE local_bytes (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            bytes INTEGER NOT NULL CHECK (bytes >= 0)
        );
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

    private static let parentsBeforeMove = """
        -- The local directory that an inode was in when it got a temporary name on the remote.
        ALTER TABLE synced ADD COLUMN parent_before_move INTEGER;
        CREATE INDEX synced_by_parent_before_move ON synced (parent_before_move)
            WHERE parent_before_move NOT NULL;
        -- A removed directory is deleted on the remote before what was moved out of it.
        CREATE TRIGGER dirents_left AFTER DELETE ON dirents BEGIN
            UPDATE synced SET parent_before_move = OLD.parent
            WHERE parent_before_move = OLD.inode;
        END;
        """

    private static let evictable = """
        -- A file enters the order of eviction when its last writer has closed it.
        DROP INDEX inodes_present;
        CREATE INDEX inodes_evictable ON inodes (accessed)
            WHERE presence > 0 AND size > 0 AND writing = 0;
        """

    private static let evictionOrder = """
        -- Of files that were used at the same time the largest is evicted first.
        DROP INDEX inodes_evictable;
        CREATE INDEX inodes_evictable ON inodes (accessed, size DESC)
            WHERE presence > 0 AND size > 0 AND writing = 0;
        """

    private static let pins = """
        -- The files and directories that are kept on this machine, these with all that is below them.
        CREATE TABLE pins (inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE);
        """

    private static let trash = """
        -- The files whose bytes are in the trash, or about to be moved there, in the order of their
        -- deletion. inode: the number that the file had. path: its path at that time. restored: during
        -- a restore, the number of the inode that gets the bytes.
        CREATE TABLE trash (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            inode INTEGER NOT NULL UNIQUE,
            path BLOB NOT NULL CHECK (length(path) > 0),
            time INTEGER NOT NULL,
            size INTEGER NOT NULL CHECK (size >= 0),
            mode INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            modified INTEGER NOT NULL,
            xattrs BLOB NOT NULL,
            restored INTEGER
        );
        CREATE INDEX trash_by_path ON trash (path, position);
        CREATE INDEX trash_by_time ON trash (time);
        CREATE INDEX trash_restored ON trash (restored) WHERE restored NOT NULL;
        """

    private static let history = """
        -- The last changes of the tree, for programs that watch it. former: the path before a move.
        CREATE TABLE history (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 5),
            side INTEGER NOT NULL CHECK (side IN (0, 1)),
            path BLOB NOT NULL CHECK (length(path) > 0),
            former BLOB
        );
        -- One row while changes are recorded. name: distinguishes it from an earlier recording. start:
        -- the position after which nothing is missing. used: when a program last wanted it.
        CREATE TABLE history_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            name TEXT NOT NULL,
            start INTEGER NOT NULL,
            used INTEGER NOT NULL
        );
        """

    private static let heldListings = """
        -- The directories whose last complete listing lacks so much that all of that is held, until the
        -- last of these deletions is recorded.
        CREATE TABLE held_listings (inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE);
        -- The number of confirmations before a deletion was held: a later one includes it.
        ALTER TABLE remote ADD COLUMN confirmations INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX remote_gone ON remote (inode) WHERE gone = 1 AND held = 0;
        """

    private static let copies = """
        -- The files that the store has copied while it moves the directory above them, with their etags in
        -- the old place and in the new one, until the move is complete.
        CREATE TABLE copies (
            inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE,
            directory INTEGER NOT NULL,
            former TEXT NOT NULL,
            etag TEXT NOT NULL
        );
        CREATE INDEX copies_directory ON copies (directory);
        """

    private static let excluded = """
        -- The items that a pattern of `--exclude` keeps here: the remote never had them, and they are not
        -- pending.
        CREATE TABLE excluded (inode INTEGER PRIMARY KEY REFERENCES inodes ON DELETE CASCADE);
        CREATE TRIGGER excluded_left AFTER DELETE ON dirents BEGIN
            DELETE FROM excluded WHERE inode = OLD.inode;
        END;
        """

    private static let proofs = """
        -- The etag of the object after an upload, if the provider knew it beforehand.
        ALTER TABLE intents ADD COLUMN expected TEXT;
        -- Identifies the bytes of a file, where the store keeps it with them.
        ALTER TABLE intents ADD COLUMN nonce TEXT;
        """

    private static let unstored = """
        -- Whether the disk has failed to store the bytes: they may be lost, and no later sync tells.
        ALTER TABLE unsynced ADD COLUMN failed INTEGER NOT NULL DEFAULT 0 CHECK (failed IN (0, 1));
        CREATE INDEX unsynced_failed ON unsynced (inode) WHERE failed = 1;
        """

    private static let changedUnsynced = """
        -- Whether a program may have changed the bytes, not only the remote supplied them.
        ALTER TABLE unsynced ADD COLUMN changed INTEGER NOT NULL DEFAULT 1 CHECK (changed IN (0, 1));
        """

    private static let suspectUnsynced = """
        -- Whether a killed process may have been told that the disk has failed to store the bytes: they
        -- have to be written again before they can be synchronised.
        ALTER TABLE unsynced ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0 CHECK (suspect IN (0, 1));
        CREATE INDEX unsynced_suspect ON unsynced (inode) WHERE suspect = 1;
        """

    private static let namesakes = """
        -- The rows of `dirents`, `synced` and `intents` by the keys of their names, which are equal
        -- if the remote takes the names for one; empty if it tells all names apart. side: 0 to 2 for
        -- the three tables; -1 in the row whose key tells how the keys are made.
        CREATE TABLE folded_names (
            parent INTEGER NOT NULL,
            key BLOB NOT NULL,
            side INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            name BLOB NOT NULL,
            PRIMARY KEY (parent, key, side, inode)
        ) WITHOUT ROWID;
        """

    // Without limits, so that a wrong number does not refuse changes. A deleted inode is subtracted
    // before its row in `pending` is, which then finds no inode.
    private static let totals = """
        -- The order in which pending inodes are listed.
        CREATE INDEX pending_by_failure ON pending (final IS NOT 1, since) WHERE what NOT NULL;
        CREATE INDEX pending_by_age ON pending (since) WHERE what IS NULL;
        CREATE INDEX pending_busy ON pending (since) WHERE kind = 'busy' AND final IS NOT 1;

        -- One row that triggers keep equal to the contents of other tables: the number of dirents;
        -- the sum of local_bytes; of the rows in `pending` the number, the deleted
        -- inodes, the bytes of the files, those that failed permanently, and those that failed so or
        -- wait for one that did.
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            names INTEGER NOT NULL DEFAULT 0,
            local_bytes INTEGER NOT NULL DEFAULT 0,
            pending INTEGER NOT NULL DEFAULT 0,
            deletions INTEGER NOT NULL DEFAULT 0,
            pending_bytes INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            final INTEGER NOT NULL DEFAULT 0
        );
        INSERT INTO totals (id) VALUES (1);
        \(Totals.counting)

        CREATE TRIGGER dirents_inserted AFTER INSERT ON dirents BEGIN
            UPDATE totals SET names = names + 1
            WHERE id = 1;
        END;
        CREATE TRIGGER dirents_deleted AFTER DELETE ON dirents BEGIN
            UPDATE totals SET names = names - 1
            WHERE id = 1;
        END;

        CREATE TRIGGER local_bytes_added AFTER INSERT ON local_bytes BEGIN
            UPDATE totals SET local_bytes = local_bytes + NEW.bytes
            WHERE id = 1;
        END;
        CREATE TRIGGER local_bytes_changed AFTER UPDATE OF bytes ON local_bytes BEGIN
            UPDATE totals SET local_bytes = local_bytes + NEW.bytes - OLD.bytes
            WHERE id = 1;
        END;
        CREATE TRIGGER local_bytes_removed AFTER DELETE ON local_bytes BEGIN
            UPDATE totals SET local_bytes = local_bytes - OLD.bytes
            WHERE id = 1;
        END;

        CREATE TRIGGER pending_inserted AFTER INSERT ON pending BEGIN
            UPDATE totals SET pending = pending + 1,
                deletions = deletions
                    + coalesce((SELECT links = 0 FROM inodes WHERE id = NEW.inode), 0),
                pending_bytes = pending_bytes
                    + coalesce((SELECT \(pendingBytes()) FROM inodes WHERE id = NEW.inode), 0),
                failed = failed + coalesce(NEW.final AND NEW.kind IS NOT 'busy', 0),
                final = final + coalesce(NEW.final, 0)
            WHERE id = 1;
        END;
        CREATE TRIGGER pending_deleted AFTER DELETE ON pending BEGIN
            UPDATE totals SET pending = pending - 1,
                deletions = deletions
                    - coalesce((SELECT links = 0 FROM inodes WHERE id = OLD.inode), 0),
                pending_bytes = pending_bytes
                    - coalesce((SELECT \(pendingBytes()) FROM inodes WHERE id = OLD.inode), 0),
                failed = failed - coalesce(OLD.final AND OLD.kind IS NOT 'busy', 0),
                final = final - coalesce(OLD.final, 0)
            WHERE id = 1;
        END;
        CREATE TRIGGER pending_failed AFTER UPDATE OF final, kind ON pending
        WHEN OLD.final IS NOT NEW.final OR OLD.kind IS NOT NEW.kind BEGIN
            UPDATE totals SET
                failed = failed - coalesce(OLD.final AND OLD.kind IS NOT 'busy', 0)
                    + coalesce(NEW.final AND NEW.kind IS NOT 'busy', 0),
                final = final - coalesce(OLD.final, 0) + coalesce(NEW.final, 0)
            WHERE id = 1;
        END;

        CREATE TRIGGER pending_resized AFTER UPDATE OF kind, links, size ON inodes
        WHEN (\(pendingBytes("OLD.")) <> \(pendingBytes("NEW.")) OR (OLD.links = 0) <> (NEW.links = 0))
            AND EXISTS (SELECT 1 FROM pending WHERE inode = NEW.id)
        BEGIN
            UPDATE totals SET deletions = deletions - (OLD.links = 0) + (NEW.links = 0),
                pending_bytes = pending_bytes - \(pendingBytes("OLD.")) + \(pendingBytes("NEW."))
            WHERE id = 1;
        END;
        CREATE TRIGGER pending_forgotten BEFORE DELETE ON inodes
        WHEN EXISTS (SELECT 1 FROM pending WHERE inode = OLD.id) BEGIN
            UPDATE totals SET deletions = deletions - (OLD.links = 0),
                pending_bytes = pending_bytes - \(pendingBytes("OLD."))
            WHERE id = 1;
        END;
        """

    /// The bytes of a pending inode, if it is a file that has a name.
    ///
    /// - Parameter row: Stands before the names of columns of `inodes`.
    static func pendingBytes(_ row: String = "") -> String {
        "iif(\(row)links > 0 AND \(row)kind = 0, \(row)size, 0)"
    }
}
