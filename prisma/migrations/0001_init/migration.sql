-- Ids are unsigned 64-bit numbers. Postgres has no such type; numeric(20,0) keeps them readable and in order.
-- The alternative, bigint shifted by 2^63, pulls 500 outboxes 1.2 to 1.8 times faster and was left because every
-- hand-written query would show wrong-looking ids (docs/decisions/0002-ids-in-postgres.md).
-- Publish times are epoch milliseconds (0 to 2^48-1): they are compared with cursors and packed into inboxes as they are.

-- CreateEnum
CREATE TYPE "visibility" AS ENUM ('PUBLIC', 'FOLLOWERS', 'PRIVATE');
CREATE TYPE "reaction_kind" AS ENUM ('LIKE', 'FAVORITE');
CREATE TYPE "fanout_state" AS ENUM ('PENDING', 'RUNNING', 'DONE', 'FAILED');
-- NOBODY: recorded while FEED_MODE=pull; nothing was pushed.
CREATE TYPE "fanout_mode" AS ENUM ('ALL_FOLLOWERS', 'ACTIVE_FOLLOWERS', 'NOBODY');

-- Who there is. follow_seq counts the reader's own follows in commit order: an inbox says up to which it is complete.
CREATE TABLE "users" (
    "id" NUMERIC(20,0) NOT NULL,
    "handle" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,
    "avatar_url" TEXT,
    "follower_count" INTEGER NOT NULL DEFAULT 0,
    "following_count" INTEGER NOT NULL DEFAULT 0,
    "follow_seq" BIGINT NOT NULL DEFAULT 0,
    "has_pulled_contents" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "users_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "users_id_is_u64" CHECK ("id" BETWEEN 0 AND 18446744073709551615),
    CONSTRAINT "users_follower_count_not_negative" CHECK ("follower_count" >= 0),
    CONSTRAINT "users_following_count_not_negative" CHECK ("following_count" >= 0)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX "users_handle_key" ON "users"("handle");

-- When a reader was last seen. The seqs count returns after ACTIVE_DAYS and after DORMANT_DAYS.
CREATE TABLE "activity" (
    "user_id" NUMERIC(20,0) NOT NULL,
    "last_active_at" BIGINT NOT NULL,
    "active_seq" BIGINT NOT NULL DEFAULT 1,
    "awake_seq" BIGINT NOT NULL DEFAULT 1,
    CONSTRAINT "activity_pkey" PRIMARY KEY ("user_id")
) WITH (fillfactor = 85);

-- The relation row is the authority. (followee_id, follower_id) is the walk of a fan-out.
CREATE TABLE "follows" (
    "follower_id" NUMERIC(20,0) NOT NULL,
    "followee_id" NUMERIC(20,0) NOT NULL,
    "follow_seq" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "follows_pkey" PRIMARY KEY ("follower_id", "followee_id"),
    CONSTRAINT "follows_follower_id_fkey" FOREIGN KEY ("follower_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "follows_followee_id_fkey" FOREIGN KEY ("followee_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "follows_not_self" CHECK ("follower_id" <> "followee_id")
);
CREATE INDEX "follows_followee_id_follower_id_idx" ON "follows"("followee_id", "follower_id");

CREATE TABLE "blocks" (
    "blocker_id" NUMERIC(20,0) NOT NULL,
    "blocked_id" NUMERIC(20,0) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "blocks_pkey" PRIMARY KEY ("blocker_id", "blocked_id"),
    CONSTRAINT "blocks_blocker_id_fkey" FOREIGN KEY ("blocker_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "blocks_blocked_id_fkey" FOREIGN KEY ("blocked_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "blocks_blocked_id_blocker_id_idx" ON "blocks"("blocked_id", "blocker_id");

-- Contents are never brought back once deleted_at is set.
CREATE TABLE "contents" (
    "id" NUMERIC(20,0) NOT NULL,
    "author_id" NUMERIC(20,0) NOT NULL,
    "publish_time" BIGINT NOT NULL,
    "text" TEXT NOT NULL,
    "media" JSONB NOT NULL DEFAULT '[]',
    "visibility" "visibility" NOT NULL DEFAULT 'PUBLIC',
    "repost_of" NUMERIC(20,0),
    "idempotency_key" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),
    CONSTRAINT "contents_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "contents_id_is_u64" CHECK ("id" BETWEEN 0 AND 18446744073709551615),
    CONSTRAINT "contents_publish_time_is_u48" CHECK ("publish_time" BETWEEN 0 AND 281474976710655),
    CONSTRAINT "contents_author_id_fkey" FOREIGN KEY ("author_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "contents_author_id_idempotency_key_key" ON "contents"("author_id", "idempotency_key");
-- An author's outbox, newest first, read by index alone.
CREATE INDEX "contents_outbox_idx" ON "contents"("author_id", "publish_time" DESC, "id" DESC) INCLUDE ("visibility", "repost_of") WHERE "deleted_at" IS NULL;
CREATE INDEX "contents_repost_of_idx" ON "contents"("repost_of") WHERE "repost_of" IS NOT NULL;

CREATE TABLE "content_counters" (
    "content_id" NUMERIC(20,0) NOT NULL,
    "likes" INTEGER NOT NULL DEFAULT 0,
    "comments" INTEGER NOT NULL DEFAULT 0,
    "reposts" INTEGER NOT NULL DEFAULT 0,
    "favorites" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "content_counters_pkey" PRIMARY KEY ("content_id"),
    CONSTRAINT "content_counters_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "contents"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "content_counters_not_negative" CHECK ("likes" >= 0 AND "comments" >= 0 AND "reposts" >= 0 AND "favorites" >= 0)
) WITH (fillfactor = 70);

-- The wanted state of one user on one content; a lower version changes nothing.
CREATE TABLE "reactions" (
    "content_id" NUMERIC(20,0) NOT NULL,
    "user_id" NUMERIC(20,0) NOT NULL,
    "kind" "reaction_kind" NOT NULL,
    "active" BOOLEAN NOT NULL,
    "version" INTEGER NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "reactions_pkey" PRIMARY KEY ("content_id", "kind", "user_id"),
    CONSTRAINT "reactions_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "contents"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "reactions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "reactions_newest_idx" ON "reactions"("content_id", "kind", "changed_at" DESC, "user_id" DESC) WHERE "active";

CREATE TABLE "comments" (
    "id" NUMERIC(20,0) NOT NULL,
    "content_id" NUMERIC(20,0) NOT NULL,
    "user_id" NUMERIC(20,0) NOT NULL,
    "text" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "idempotency_key" TEXT,
    "deleted_at" TIMESTAMPTZ(3),
    CONSTRAINT "comments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "comments_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "contents"("id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "comments_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE UNIQUE INDEX "comments_user_id_idempotency_key_key" ON "comments"("user_id", "idempotency_key");
CREATE INDEX "comments_newest_idx" ON "comments"("content_id", "created_at" DESC, "id" DESC) WHERE "deleted_at" IS NULL;

-- Transactional outbox: written with the change, moved to the queue by the relay in id order.
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    "type" TEXT NOT NULL,
    "author_id" NUMERIC(20,0) NOT NULL,
    "content_id" NUMERIC(20,0) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "relayed_at" TIMESTAMPTZ(3),
    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "events_waiting_idx" ON "events"("id") WHERE "relayed_at" IS NULL;

-- One row a content, written with it: how far its delivery has come. Rows that are not DONE are the in-flight list.
CREATE TABLE "fanouts" (
    "content_id" NUMERIC(20,0) NOT NULL,
    "author_id" NUMERIC(20,0) NOT NULL,
    "publish_time" BIGINT NOT NULL,
    "state" "fanout_state" NOT NULL DEFAULT 'PENDING',
    "mode" "fanout_mode",
    "epoch" BIGINT,
    "planned_through" NUMERIC(20,0),
    "is_planned" BOOLEAN NOT NULL DEFAULT false,
    "task_count" INTEGER NOT NULL DEFAULT 0,
    "finished_task_count" INTEGER NOT NULL DEFAULT 0,
    "failed_task_count" INTEGER NOT NULL DEFAULT 0,
    "target_count" INTEGER NOT NULL DEFAULT 0,
    "delivered_count" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    CONSTRAINT "fanouts_pkey" PRIMARY KEY ("content_id"),
    CONSTRAINT "fanouts_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "contents"("id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 70);
CREATE INDEX "fanouts_in_flight_idx" ON "fanouts"("author_id", "publish_time" DESC, "content_id" DESC) WHERE "state" <> 'DONE';
CREATE INDEX "fanouts_in_flight_time_idx" ON "fanouts"("publish_time" DESC, "content_id" DESC) INCLUDE ("author_id") WHERE "state" <> 'DONE';

-- The progress table: (content, task) -> latest user id delivered. Targets are the followers in [first, last].
CREATE TABLE "fanout_tasks" (
    "content_id" NUMERIC(20,0) NOT NULL,
    "task_no" INTEGER NOT NULL,
    "state" "fanout_state" NOT NULL DEFAULT 'PENDING',
    "first_user_id" NUMERIC(20,0) NOT NULL,
    "last_user_id" NUMERIC(20,0) NOT NULL,
    "target_count" INTEGER NOT NULL,
    "latest_user_id" NUMERIC(20,0),
    "delivered_count" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "finished_at" TIMESTAMPTZ(3),
    CONSTRAINT "fanout_tasks_pkey" PRIMARY KEY ("content_id", "task_no"),
    CONSTRAINT "fanout_tasks_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "fanouts"("content_id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 70);
CREATE INDEX "fanout_tasks_unfinished_idx" ON "fanout_tasks"("content_id", "task_no") WHERE "state" <> 'DONE';

-- One row: the policy in force, and the Redis that holds its inboxes. Any change starts a new epoch; inboxes of an older
-- one count as missing. Windows are in milliseconds; dispatchers and readers take them from here, not from their settings.
CREATE TABLE "feed_state" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "epoch" BIGINT NOT NULL DEFAULT 1,
    "feed_mode" TEXT NOT NULL DEFAULT 'hybrid',
    "inbox_store" TEXT NOT NULL DEFAULT '',
    "active_ms" BIGINT NOT NULL DEFAULT 604800000,
    "dormant_ms" BIGINT NOT NULL DEFAULT 2592000000,
    "redis_id" TEXT NOT NULL DEFAULT '',
    CONSTRAINT "feed_state_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "feed_state_is_one_row" CHECK ("id" = 1)
);
INSERT INTO "feed_state" ("id") VALUES (1);

-- INBOX_STORE=postgres: the head says up to where the reader's inbox is complete; no head, no inbox.
CREATE TABLE "inbox_heads" (
    "user_id" NUMERIC(20,0) NOT NULL,
    "head" TEXT NOT NULL,
    "entry_count" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "inbox_heads_pkey" PRIMARY KEY ("user_id")
) WITH (fillfactor = 70);

CREATE TABLE "inbox" (
    "user_id" NUMERIC(20,0) NOT NULL,
    "publish_time" BIGINT NOT NULL,
    "content_id" NUMERIC(20,0) NOT NULL,
    CONSTRAINT "idx_feed" PRIMARY KEY ("user_id", "publish_time", "content_id")
) PARTITION BY HASH ("user_id");
DO $$ BEGIN
  FOR i IN 0..15 LOOP
    EXECUTE format('CREATE TABLE inbox_p%s PARTITION OF inbox FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(i::text, 2, '0'), i);
  END LOOP;
END $$;

-- Snowflake worker ids, leased. last_time_ms keeps a new holder from reusing its predecessor's milliseconds.
CREATE TABLE "id_leases" (
    "worker_id" INTEGER NOT NULL,
    "holder" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "last_time_ms" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "id_leases_pkey" PRIMARY KEY ("worker_id"),
    CONSTRAINT "id_leases_worker_id_is_10_bit" CHECK ("worker_id" BETWEEN 0 AND 1023)
);
