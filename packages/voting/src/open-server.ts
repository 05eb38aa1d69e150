import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import { lockDirectory } from "./directory-lock.ts";
import { HttpTransport } from "./http-transport.ts";
import { resolveOptions, type VotingLeaseStoreOptions } from "./options.ts";
import { checkChange, clusterOf } from "./roster.ts";
import { Server } from "./server.ts";
import { StateFile } from "./state-file.ts";
import { Troubles } from "./troubles.ts";

export interface OpenServer {
  readonly server: Server;
  readonly troubles: Troubles;
  /** Ends it, and lets go of its directory. */
  readonly close: () => Promise<void>;
}

/**
 * Starts a server on a directory and a port of its own.
 *
 * @throws {ConfigurationError} for what a person has to mend. Nothing is left open then.
 */
export async function openServer(options: VotingLeaseStoreOptions): Promise<OpenServer> {
  const { server: name, servers, secret, stateDirectory, listen, ca, clock } = resolveOptions(options);
  const names = Object.keys(servers);
  const directory = resolve(stateDirectory);
  const troubles = new Troubles(clock, name);
  const unlock = await ownDirectory(directory);
  try {
    const disk = new StateFile(directory, (message) => troubles.tell(message));
    const kept = (await disk.load())?.roster;
    if (kept) checkChange(kept, { server: name, names }, directory);
    const isSame = kept !== undefined && clusterOf(kept.names) === clusterOf(names);
    const met = new Set(isSame ? kept.met : []);
    await disk.setRoster({ server: name, names, met: [...met] });
    const onMet = (other: string): void => {
      if (met.has(other)) return;
      met.add(other);
      // Where this fails, so does the next vote, which says so.
      disk.setRoster({ server: name, names, met: [...met] }).catch(() => undefined);
    };
    const transport = new HttpTransport({ server: name, servers, secret, listen, ca, clock, troubles, onMet });
    const server = new Server({ name, names, cluster: clusterOf(names), clock, disk, transport });
    await server.start();
    const end = async (): Promise<void> => {
      await server.close();
      await disk.close();
      unlock();
    };
    let ended: Promise<void> | undefined;
    return { server, troubles, close: () => (ended ??= end()) };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Makes the directory if need be, and keeps others out of it. */
async function ownDirectory(directory: string): Promise<() => void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return await lockDirectory(directory);
  } catch (error) {
    if (isLeaseholdError(error)) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(
      `stateDirectory ${directory} cannot be used (${code ?? message}): it must be a directory that this process may write to.`,
      { cause: error },
    );
  }
}
