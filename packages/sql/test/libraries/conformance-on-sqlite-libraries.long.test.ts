/** Every case, on handles of other SQLite libraries. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { onSqlite } from "../sqlite-place.ts";
import { BETTER_SQLITE, LIBSQL } from "./sqlite-libraries.ts";

let folder: string;

beforeAll(async () => {
  folder = await memoryFolder("conformance-libraries-");
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const freshPath = (): string => join(folder, `${randomUUID()}.db`);

for (const library of [BETTER_SQLITE, LIBSQL])
  runConformance(onSqlite(`sqlite (${library.name})`, freshPath, library), { concurrently: true });
