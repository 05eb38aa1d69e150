import type { LeaseDatabase } from "./lease-database.ts";

/** What everything on Cloud Run that competes for a lease has in common. */
export interface CandidateProps {
  /** Where the leases are. */
  readonly leases: LeaseDatabase;
  /** The container's image, by its digest if it is to stay the same: `...@sha256:...`. A worker's needs to listen on no port. */
  readonly image: string;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** @default - what its program needs to find its leases, and its schedule and its time where it has them, alone */
  readonly environment?: Readonly<Record<string, string>>;
}
