-- A content's counts are its row here plus its rows in content_counter_shards. `version` counts the changes of both, so
-- that of two readings the one with the greater version is the later one; comment_version counts those of comments.
ALTER TABLE "content_counters"
    ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN "comment_version" BIGINT NOT NULL DEFAULT 0;
-- Counts that were there before versions have the first one.
UPDATE "content_counters" SET "version" = 1, "comment_version" = 1;

-- Whoever finds the row of a content locked adds to one of these instead of waiting, or makes another: a content has as
-- many as there were writers at once. They are folded back into the row. A shard may be negative, their sum is not.
CREATE TABLE "content_counter_shards" (
    "content_id" NUMERIC(20,0) NOT NULL,
    "shard" BIGSERIAL NOT NULL,
    "likes" INTEGER NOT NULL DEFAULT 0,
    "comments" INTEGER NOT NULL DEFAULT 0,
    "reposts" INTEGER NOT NULL DEFAULT 0,
    "favorites" INTEGER NOT NULL DEFAULT 0,
    "version" BIGINT NOT NULL DEFAULT 0,
    "comment_version" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "content_counter_shards_pkey" PRIMARY KEY ("content_id", "shard"),
    CONSTRAINT "content_counter_shards_content_id_fkey" FOREIGN KEY ("content_id") REFERENCES "contents"("id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 50);

-- Written with each change of counts, deleted once the projection shows it. Appended only: no row that writers share.
CREATE TABLE "counter_changes" (
    "id" BIGSERIAL NOT NULL,
    "content_id" NUMERIC(20,0) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "counter_changes_pkey" PRIMARY KEY ("id")
);

-- The state that the last write replaced: what an upsert must know to move the count (RETURNING old.* begins with
-- Postgres 18).
ALTER TABLE "reactions" ADD COLUMN "was_active" BOOLEAN NOT NULL DEFAULT false;
