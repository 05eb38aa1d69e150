import type { LeaseDatabase } from "./lease-database.ts";
import { environmentBlocks } from "../../terraform.ts";

/** The properties of all constructs on Cloud Run that compete for a lease. */
export interface CandidateProps {
  /** The database of leases. */
  readonly leases: LeaseDatabase;
  /** The elections, or the schedules' names, of its work. The program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  /** A region of Cloud Run, near the database. A schedule needs one of Cloud Scheduler, too. */
  readonly location: string;
  /** The container's image. Use its digest to pin it: `...@sha256:...`. A worker's program answers `GET /live` on `HEALTH_PORT`. */
  readonly image: string;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** Further variables for the program. @default - only those for its leases, and its schedule and time if it has them */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Returns the variables by which a candidate's code finds its leases:
 * `new FirestoreLeaseStore({ firestore: new Firestore({ ...KEEPALIVE, databaseId: process.env.LEASE_DATABASE }) })`.
 * @throws {Error} for a name that both the construct and its user set.
 */
export function candidateEnvironment(
  { leases, elections: [election = ""], environment }: CandidateProps,
  more: Readonly<Record<string, string>>,
): ReturnType<typeof environmentBlocks> {
  const { project, databaseId } = leases;
  return environmentBlocks(
    { GOOGLE_CLOUD_PROJECT: project, LEASE_DATABASE: databaseId, ELECTION: election, ...more },
    environment,
  );
}
