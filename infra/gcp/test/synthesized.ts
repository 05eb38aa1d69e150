import { synthesizedFor, type Resource, type Synthesized } from "@leasehold/test-kit/terrain";
import { TerraformStack, Testing } from "cdktn";
import { GoogleProvider, LeaseDatabase, type LeaseDatabaseProps } from "@leasehold/infra-gcp";
import { google } from "./google-facts.ts";

/** A stack with the provider, and nothing else. */
export function emptyStack(): TerraformStack {
  const stack = new TerraformStack(Testing.app(), "stack");
  new GoogleProvider(stack, "Google", {});
  return stack;
}

export function leasesIn(stack: TerraformStack, props: Partial<LeaseDatabaseProps> = {}): LeaseDatabase {
  return new LeaseDatabase(stack, "Leases", { project: "my-project", location: "europe-west1", ...props });
}

export type { Resource, Synthesized };

/** Returns the synthesized files of a stack. Fails if the provider would refuse them. */
export function synthesized(stack: TerraformStack): Synthesized {
  return synthesizedFor(stack, google);
}
