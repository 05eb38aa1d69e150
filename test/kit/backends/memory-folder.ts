import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder in which Linux keeps files in memory. */
export const IN_MEMORY = "/dev/shm";

/** Makes a temporary folder, in memory if the system has such a folder. SQLite blocks its process while it waits for its disk. */
export async function memoryFolder(prefix: string): Promise<string> {
  return await mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
}
