import { isEvent } from "./demo-event.ts";
import type { EventLog } from "./event-log.ts";

export interface Following {
  /** How many renewals the leader does in one term. @defaultValue 0 */
  readonly renewals?: number | undefined;
  /** How many entries the leader adds after these renewals. @defaultValue 0 */
  readonly entries?: number | undefined;
  /** A candidate that does not count as the leader. */
  readonly notOf?: string | undefined;
}

/**
 * Waits until a leader has done this work in one term from now on, and returns its name. A leader may lose its lease on a busy
 * machine: then the count begins again with the next leader.
 */
export async function followLeader(log: EventLog, { renewals = 0, entries = 0, notOf }: Following): Promise<string> {
  const started = log.events.findLast((event) => isEvent(event, "started-leading"));
  let leader = started?.candidate ?? undefined;
  let done = { renewals: 0, entries: 0 };
  for (let from = log.length; ;) {
    const isThere = leader !== undefined && leader !== notOf;
    if (isThere && done.renewals >= renewals && done.entries >= entries) return leader!;
    const event = await log.next({
      what: isThere ? `${leader} to lead on` : "another leader",
      event: ["started-leading", "renewed", "wrote"],
      from,
    });
    from = log.events.indexOf(event, from) + 1;
    if (isEvent(event, "started-leading")) {
      leader = event.candidate ?? undefined;
      done = { renewals: 0, entries: 0 };
    } else if (event.candidate === leader) {
      if (isEvent(event, "renewed")) done.renewals += 1;
      else if (done.renewals >= renewals) done.entries += 1;
    }
  }
}
