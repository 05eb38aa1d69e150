import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import { readAgain } from "./certificates.ts";
import { lockDirectory } from "./directory-lock.ts";
import { HttpTransport } from "./http-transport.ts";
import { resolveOptions, type VotingLeaseStoreOptions, type VotingTls } from "./options.ts";
import { rosterAtStart, type Roster } from "./roster.ts";
import { Server } from "./server.ts";
import { StateFile } from "./state-file.ts";
import { WarningLog } from "./warning-log.ts";

export interface OpenServer {
  readonly server: Server;
  readonly troubles: WarningLog;
  /** Closes the server and unlocks its directory. */
  readonly close: () => Promise<void>;
}

/**
 * Starts a server on a directory and a port of its own.
 *
 * @throws {ConfigurationError} for mistakes that a person has to correct. Nothing is left open then.
 */
export async function openServer(options: VotingLeaseStoreOptions): Promise<OpenServer> {
  const { server: name, servers, secret, clock, stateDirectory, readTls, ...resolved } = resolveOptions(options);
  const tls = await readTls?.();
  const listen = { ...resolved.listen, tls };
  const names = Object.keys(servers);
  const troubles = new WarningLog(clock, name);
  const directory = resolve(stateDirectory);
  const unlock = await ownDirectory(directory);
  const disk = new StateFile(directory, (message) => troubles.tell(message));
  const leave = async (): Promise<void> => {
    await disk.close();
    unlock();
  };
  try {
    const before = (await disk.load())?.roster;
    const { isMoved, ...started } = rosterAtStart(before, { server: name, names }, directory);
    let { roster } = started;
    await disk.setRoster(roster);
    const keep = (changed: Partial<Roster>): void => {
      roster = { ...roster, ...changed };
      // If this fails, the next vote fails as well and reports it.
      disk.setRoster(roster).catch(() => undefined);
    };
    const onMet = (other: string): void => void (roster.met.includes(other) || keep({ met: [...roster.met, other] }));
    const onBegun = (): void => void (roster.hasBegun || keep({ hasBegun: true }));
    const stays = "its certificates cannot be read again, so the last ones stay in use";
    const readTlsAgain =
      readTls &&
      readAgain<VotingTls>({
        clock,
        read: readTls,
        use: (read) => transport.useTls(read),
        failed: (reason) => troubles.tell(`${stays}: ${reason}`),
        hasFirst: true,
      });
    const transport = new HttpTransport({
      ...{ server: name, servers, secret, listen, ca: tls?.ca, readTlsAgain, clock, troubles, onMet },
    });
    const server = new Server({ name, names, clock, disk, isMoved, onBegun, transport, troubles });
    await server.start();
    if (names.length % 2 === 0) {
      const survives = `survive no more losses than ${names.length - 1}: add or remove one.`;
      troubles.tell(`its list has ${names.length} servers, which ${survives}`);
    }
    const end = async (): Promise<void> => {
      await server.close();
      await leave();
    };
    let ended: Promise<void> | undefined;
    return { server, troubles, close: () => (ended ??= end()) };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** Makes the directory if it is missing, and locks it. */
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
