import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { onSqlite } from "./sqlite-place.ts";

let folder: string;

beforeAll(async () => {
  folder = await memoryFolder("conformance-sqlite-");
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

runConformance(
  onSqlite("sqlite", () => join(folder, `${randomUUID()}.db`)),
  { concurrently: true },
);
