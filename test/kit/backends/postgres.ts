import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { startDaemon } from "./daemon.ts";
import type { Daemon } from "./daemon.ts";
import { findProgram } from "./find-program.ts";

/** A PostgreSQL server. */
export interface Postgres extends Daemon {
  /** The URL with a user that has all rights, and an empty database: `postgresql://postgres@127.0.0.1:40123/postgres`. */
  readonly url: string;
}

/** Why no PostgreSQL can be started on this machine; `undefined` if one can. */
export async function postgresMissing(): Promise<string | undefined> {
  if ((await findProgram("postgres")) === undefined) return "PostgreSQL is not installed: apt-get install postgresql";
  return await unprivilegedUser().then(
    () => undefined,
    () => "PostgreSQL does not run as root, and there is no user postgres: adduser --system postgres",
  );
}

/**
 * Starts a PostgreSQL server on 127.0.0.1, with data of its own. Takes about a second.
 * @throws an error with the server's log, if it ends or takes too long before it serves.
 */
export async function startPostgres(): Promise<Postgres> {
  return await start("PostgreSQL", [
    ...["initdb", "--pgdata={directory}/data", "--username=postgres", "--auth=trust"],
    ...["--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"],
  ]);
}

/**
 * Starts a standby of the server at `port` of 127.0.0.1; its name there is `standby`. It streams from that port, so that a proxy
 * on it can cut it off.
 */
export async function startPostgresStandby(port: number): Promise<Postgres> {
  return await start("PostgreSQL's standby", [
    ...["pg_basebackup", "-d", `host=127.0.0.1 port=${port} user=postgres application_name=standby`],
    ...["-D", "{directory}/data", "-X", "stream", "-R", "--checkpoint=fast", "--no-sync"],
  ]);
}

async function start(name: string, [prepare = "", ...args]: readonly string[]): Promise<Postgres> {
  const found = await findProgram("postgres");
  if (found === undefined) throw new Error(await postgresMissing());
  const serve = await realpath(found);
  const daemon = await startDaemon(name, {
    directory: "postgres",
    inMemory: true,
    user: await unprivilegedUser(),
    // In the same folder, because both must have the same version.
    prepare: [join(dirname(serve), prepare), ...args],
    serve: [
      serve,
      ...["-D", "{directory}/data", "-p", "{port}"],
      ...setting("listen_addresses", "127.0.0.1"),
      // The path of a socket has to be short, and the socket is not used.
      ...setting("unix_socket_directories", ""),
      ...setting("timezone", "UTC"),
      // Each conformance case has its own connections.
      ...setting("max_connections", "500"),
      // For a standby that was cut off.
      ...setting("wal_retrieve_retry_interval", "100ms"),
    ],
    ready: "database system is ready to accept",
    // SIGKILL would leave shared memory behind.
    endWith: "SIGQUIT",
  });
  return Object.assign(daemon, { url: `postgresql://postgres@127.0.0.1:${daemon.port}/postgres` });
}

function setting(name: string, value: string): readonly string[] {
  return ["-c", `${name}=${value}`];
}

/**
 * Returns the user who runs it in place of root, because PostgreSQL refuses root. Returns `undefined` if this process is not
 * root.
 * @throws if that user is missing.
 */
async function unprivilegedUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(["-u", "-g"].map(async (flag) => promisify(execFile)("id", [flag, "postgres"])));
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
}
