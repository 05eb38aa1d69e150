import type { LeaseDatabase } from "./lease-database.ts";

/** The properties of all constructs on Cloud Run that compete for a lease. */
export interface CandidateProps {
  /** The database of leases. */
  readonly leases: LeaseDatabase;
  /** The container's image. Use its digest to pin it: `...@sha256:...`. A worker's program answers `GET /live` on `HEALTH_PORT`. */
  readonly image: string;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** Further variables for the program. @default - only those for its leases, and its schedule and time if it has them */
  readonly environment?: Readonly<Record<string, string>>;
}
