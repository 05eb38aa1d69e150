import type { ManagedIdentity } from "./azurerm/access.ts";
import type { ContainerEnvironmentReference } from "./container-environment.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";

/** The properties that an app and a job of candidates have in common. */
export interface CandidateProps {
  /** The container of leases. */
  readonly leases: LeaseContainer;
  /** The elections in which its candidates compete. The program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** 2 to 32 lower-case letters, digits and single hyphens. Related resources are called `<name>-...`. */
  readonly name: string;
  /** The container's image, such as `acme.azurecr.io/billing:1`. */
  readonly image: string;
  /**
   * The identity that the program runs as. It gets the grant for the elections.
   * @default - an identity of its own is made
   */
  readonly identity?: ManagedIdentity;
  /**
   * The registry of the image. The identity pulls from it.
   * @default - the image is public
   */
  readonly registry?: RegistryReference;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** Further variables for your program. @default - only those that a candidate needs to find its leases */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default - one is made, with a workspace for its logs */
  readonly containerEnvironment?: ContainerEnvironmentReference;
  /** @default 0.25 of a core */
  readonly cpu?: number;
  /** @default "0.5Gi" */
  readonly memory?: string;
}

/** A container registry, used without a password. */
export interface RegistryReference {
  /** Its login server: `acme.azurecr.io`. */
  readonly server: string;
  /**
   * The resource's id. With it the identity gets `AcrPull` before any image is pulled.
   * @default - the identity that you pass may pull already
   */
  readonly id?: string;
}
