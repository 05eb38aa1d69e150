import { isEvent } from "./demo-event.ts";
import type { EventLog } from "./event-log.ts";

export interface Following {
  /** How many renewals the leader does in one term. @defaultValue 0 */
  readonly renewals?: number | undefined;
  /** How many entries it adds after these. @defaultValue 0 */
  readonly entries?: number | undefined;
  /** Another leader than this one. */
  readonly notOf?: string | undefined;
}

/**
 * Waits until a leader has done so much in one term from now on, and returns its name. A busy machine may cost a leader its
 * lease: the next one then begins anew.
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
