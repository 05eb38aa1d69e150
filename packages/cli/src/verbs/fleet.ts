import { isLeaseholdError } from "@leasehold/core";
import type { FleetStatus, MemberStatus, ShardStatus } from "@leasehold/fleet";
import { Argument, type Command } from "commander";
import { checkCanAsk, confirm, printResult } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { formatDuration } from "../duration.ts";
import { addStoreOptions, openUsedStore } from "../target-options.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";
import { table, textOfLines } from "../table.ts";
import { teller, clipped, printable } from "../text.ts";

type Store = Awaited<ReturnType<typeof openUsedStore>>;

interface Order {
  readonly command: Command;
  readonly environment: ProcessEnvironment;
  readonly store: Store;
  readonly fleet: string;
  /** The shard or the member; empty for a reset. */
  readonly target: string;
}

/** The operands of each action after the name of the fleet, and its work. */
const ACTIONS: Readonly<Record<string, { readonly target?: string; readonly act: (order: Order) => Promise<number> }>> = {
  status: { act: status },
  release: { target: "SHARD", act: release },
  evict: { target: "MEMBER", act: evict },
  reset: { act: reset },
};

/** Shows a fleet, and gives orders to it. */
export const verb: Verb = {
  define(command) {
    command
      .addArgument(new Argument("<action>", "what to do").choices(Object.keys(ACTIONS)))
      .argument("<fleet>", "the name of the fleet")
      .argument("[target]", "the shard to release, or the member to evict")
      .addHelpText(
        "after",
        `
status FLEET           who holds which shard; exit code 3 if a shard has no holder or a reset is not over, 4 if a look cannot tell
release FLEET SHARD    hand one shard to another member; with one member its task begins anew
evict FLEET MEMBER     end a member's session; its shards move after the lease, and its process joins again
reset FLEET            make a new plan after the plan was deleted or restored; it takes a lease, and no task runs meanwhile`,
      );
    addStoreOptions(command).option("--yes", "do not ask").option("--json", "print JSON, in milliseconds");
  },
  async act(command, environment) {
    const [name, fleet, target] = command.processedArgs as [string, string, string | undefined];
    const action = ACTIONS[name] as (typeof ACTIONS)[string];
    if ((action.target === undefined) !== (target === undefined)) {
      const usage = `fleet ${name} FLEET${action.target === undefined ? "" : ` ${action.target}`}`;
      throw new CommandError(
        EXIT.usage,
        `${target === undefined ? "an argument is missing" : `'${target}' is one argument too many`}: ${usage}.`,
      );
    }
    if (name !== "status") checkCanAsk(command, environment);
    await using store = await openUsedStore(command, environment);
    return await action.act({ command, environment, store, fleet, target: target ?? "" });
  },
};

async function status({ command, environment, store, fleet }: Order): Promise<number> {
  const found = await read(store, fleet);
  const json = command.opts<{ readonly json?: true }>().json === true;
  environment.stdout.write(json ? `${JSON.stringify(found)}\n` : textOf(found));
  const has = (...states: ReadonlyArray<ShardStatus["state"]>): boolean =>
    found.shards.some(({ state }) => states.includes(state));
  if (found.isResetting || found.members.length === 0 || has("lost", "failing", "free")) return EXIT.nobodyLeads;
  return has("unknown") ? EXIT.unknown : EXIT.done;
}

async function release({ command, environment, store, fleet, target }: Order): Promise<number> {
  const { releaseShard } = await import("@leasehold/fleet");
  const shard = (await read(store, fleet)).shards.find(({ name }) => name === target);
  if (!shard) throw new CommandError(EXIT.nobodyLeads, `the fleet '${fleet}' has no shard '${target}'.`);
  const { memberId, term } = shard;
  if (term === undefined) throw new CommandError(EXIT.nobodyLeads, `no member holds the shard '${target}' of '${fleet}'.`);
  environment.stderr.write(`${printable(target)}: term ${term}, ${shard.state}, ${printable(memberId ?? "")}\n`);
  await confirm(command, environment, "Release it?");
  const released = await releaseShard(store, fleet, target, { ifTerm: term });
  if (!released) throw new CommandError(EXIT.notElected, "that term is over by itself: nothing was released.");
  printResult(command, environment, "its task is asked to end, and another member gets it.", { shard: target, term });
  return EXIT.done;
}

async function evict({ command, environment, store, fleet, target }: Order): Promise<number> {
  const member = oneMember(await read(store, fleet), target);
  const { election, term, memberId, shards } = member;
  environment.stderr.write(`${printable(memberId)}: ${member.state}, ${shards} shards, ${election}, term ${term}\n`);
  await confirm(command, environment, "End its session? Its process joins again if it still runs.");
  const { evictMember } = await import("@leasehold/fleet");
  if (!(await evictMember(store, member)))
    throw new CommandError(EXIT.notElected, "that session is over by itself: nothing was ended.");
  printResult(command, environment, `its session is ended; its ${shards} shards move once its lease has run out.`, {
    broken: true,
  });
  return EXIT.done;
}

async function reset({ command, environment, store, fleet }: Order): Promise<number> {
  const { readFleet, resetFleet } = await import("@leasehold/fleet");
  const shown = await readFleet(store, fleet).then(
    ({ revision, members }) => `revision ${revision}, ${members.length} members`,
    (error: unknown) => {
      // A damaged plan is what a reset is for. Any failure of the store has a code.
      if (isLeaseholdError(error)) throw error;
      return (error as Error).message;
    },
  );
  environment.stderr.write(`${printable(fleet)}: ${printable(shown)}\n`);
  await confirm(command, environment, "End all sessions, and make a new plan? No task runs for a lease.");
  const stopped = environment.untilStopped();
  const done = await resetFleet(store, fleet, { signal: stopped }).catch(async (error: unknown) => {
    const isBegun = stopped.aborted || (await readFleet(store, fleet).catch(() => undefined))?.isResetting;
    if (isBegun) teller(environment)("nothing is granted until you run reset again.");
    throw stopped.aborted ? new CommandError(EXIT.notElected, "the reset was interrupted.") : error;
  });
  printResult(command, environment, `the plan is new, from revision ${done.revision}. Members join it by themselves.`, done);
  return EXIT.done;
}

async function read(store: Store, fleet: string): Promise<FleetStatus> {
  const { readFleet } = await import("@leasehold/fleet");
  const found = await readFleet(store, fleet);
  if (found.revision > 0 || found.members.length > 0) return found;
  throw new CommandError(EXIT.nobodyLeads, `the fleet '${fleet}' has had no member in this store; is that its name?`);
}

/** Finds a member by its label, or by the name of its session's lease. */
function oneMember({ fleet, members }: FleetStatus, target: string): MemberStatus {
  const found = members.filter(({ memberId, election }) => memberId === target || election === target);
  const [member] = found;
  if (!member) throw new CommandError(EXIT.nobodyLeads, `the fleet '${fleet}' has no member '${target}'.`);
  if (found.length === 1) return member;
  const names = found.map(({ election }) => election).join(" or ");
  throw new CommandError(EXIT.usage, `${found.length} members are called '${target}'; name one by its session: ${names}.`);
}

function textOf({ fleet, revision, coordinator, fenced, isResetting, members, shards }: FleetStatus): string {
  const facts = [
    `revision ${revision}`,
    coordinator === undefined ? "no coordinator" : `coordinator ${printable(coordinator)}`,
    fenced ? "fenced" : "not fenced",
    isResetting ? "a reset is not over (nothing is granted; if it was interrupted, run reset again)" : "",
  ];
  const memberRows = members.map(({ memberId, state, isStopping, shards: count, ageMs, election }) => [
    clipped(printable(memberId)),
    isStopping ? "stopping" : state,
    String(count),
    formatDuration(ageMs),
    election,
  ]);
  const shardRows = shards.map(({ name, state, memberId = "", term, failures }) => [
    printable(name),
    state,
    term === undefined ? "" : String(term),
    clipped(printable(memberId)),
    failures === 0 ? "" : String(failures),
  ]);
  return textOfLines([
    `${printable(fleet)}: ${facts.filter((fact) => fact !== "").join(", ")}`,
    ...table(["MEMBER", "STATE", "SHARDS", "AGE", "SESSION"], memberRows),
    ...table(["SHARD", "STATE", "TERM", "MEMBER", "FAILURES"], shardRows),
  ]);
}
