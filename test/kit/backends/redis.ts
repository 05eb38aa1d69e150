import { Redis } from "ioredis";
import { startDaemon, type Daemon } from "./daemon.ts";
import { programMissing, programPath, REDIS } from "./programs.ts";

/** Why no Redis can be started on this machine; `undefined` if one can. */
export async function redisMissing(): Promise<string | undefined> {
  return await programMissing(REDIS);
}

/**
 * Starts a Redis on 127.0.0.1 that keeps its data only in memory.
 * @param settings further arguments, for instance `--replicaof`.
 * @throws an error with its log, if it ends or takes too long before it serves.
 */
export async function startRedis(settings: readonly string[] = []): Promise<Daemon> {
  const server = await programPath(REDIS);
  return await startDaemon("Redis", {
    directory: "redis",
    serve: [
      "/bin/sh",
      // Redis writes its log to stdout; this moves it to stderr.
      ...["-c", 'exec "$0" "$@" >&2', server],
      ...["--bind", "127.0.0.1", "--port", "{port}", "--dir", "{directory}"],
      ...["--save", "", "--appendonly", "no"],
      ...settings,
    ],
    ready: "Ready to accept connections",
    endWith: "SIGKILL",
  });
}

/** Makes every connection give a user and a password. The `reader` may read the keys of a pattern, and write none. */
export async function requirePassword(
  { port }: Daemon,
  reader: { readonly user: string; readonly password: string },
  pattern: string,
): Promise<void> {
  const admin = new Redis(port, "127.0.0.1");
  const rights = [`~${pattern}`, `&${pattern}`, "+@all", "-@write"];
  await admin.acl("SETUSER", reader.user, "on", `>${reader.password}`, ...rights);
  await admin.acl("SETUSER", "default", "resetpass", ">only-the-administrator");
  admin.disconnect();
}
