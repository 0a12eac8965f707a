"""The store of an index on a PostgreSQL server: pgvector finds vectors, tsvector ranks words. The extra [postgres]."""
