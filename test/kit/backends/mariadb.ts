import { startDaemon } from "./daemon.ts";
import type { Daemon } from "./daemon.ts";
import { findProgram } from "./find-program.ts";

/** A MariaDB server. */
export interface MariaDb extends Daemon {
  /** The URL with a user that has all rights, and an empty database: `mysql://root@127.0.0.1:40123/leasehold`. */
  readonly url: string;
}

/** Why no MariaDB can be started on this machine; `undefined` if one can. */
export async function mariaDbMissing(): Promise<string | undefined> {
  const programs = await Promise.all(["mariadbd", "mariadb-install-db"].map(findProgram));
  return programs.includes(undefined) ? "MariaDB is not installed: apt-get install mariadb-server" : undefined;
}

/**
 * Starts a MariaDB server on 127.0.0.1, with data of its own. Takes a second or two.
 * @throws an error with the server's log, if it ends or takes too long before it serves.
 */
export async function startMariaDb(): Promise<MariaDb> {
  const [install, serve] = await Promise.all([findProgram("mariadb-install-db"), findProgram("mariadbd")]);
  if (install === undefined || serve === undefined) throw new Error(await mariaDbMissing());
  // By default a server refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ["--user=root"] : [];
  // A server that starts deletes the files of another one in a shared folder of temporary tables.
  const data = ["--no-defaults", "--datadir={directory}/data", "--tmpdir={directory}", ...asUser];
  const daemon = await startDaemon("MariaDB", {
    directory: "mariadb",
    inMemory: true,
    files: { "init.sql": "CREATE DATABASE leasehold;\n" },
    prepare: [install, ...data, "--auth-root-authentication-method=normal", "--skip-test-db"],
    serve: [
      serve,
      ...data,
      "--port={port}",
      "--bind-address=127.0.0.1",
      // Relative to the data directory, because the path of a socket has to be short. The socket is not used.
      "--socket=socket",
      "--pid-file=pid",
      "--init-file={directory}/init.sql",
      "--character-set-server=utf8mb4",
      "--skip-name-resolve",
      "--skip-log-bin",
      // Each conformance case has its own connections.
      "--max-connections=500",
      "--innodb-buffer-pool-size=32M",
    ],
    ready: "ready for connections",
    endWith: "SIGKILL",
  });
  return Object.assign(daemon, { url: `mysql://root@127.0.0.1:${daemon.port}/leasehold` });
}
