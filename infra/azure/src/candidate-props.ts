import type { ManagedIdentity } from "./azurerm/access.ts";
import type { ContainerEnvironmentReference } from "./container-environment.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";

/** What an app and a job of candidates both are told. */
export interface CandidateProps {
  /** Where the leases are. */
  readonly leases: LeaseContainer;
  /** The elections in which its candidates compete. The first is what `ELECTION` says. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** 2 to 32 lower-case letters, digits and single hyphens. What is made around it is called `<name>-...`. */
  readonly name: string;
  /** The container's image, such as `acme.azurecr.io/billing:1`. */
  readonly image: string;
  /**
   * Who it runs as. It gets the grant for the elections.
   * @default - an identity of its own is made
   */
  readonly identity?: ManagedIdentity;
  /**
   * The registry that the image comes from, read as the identity.
   * @default - the image is public
   */
  readonly registry?: RegistryReference;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** Variables for your program. @default - what a candidate needs to find its leases alone */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default - one is made, with a workspace for its logs */
  readonly containerEnvironment?: ContainerEnvironmentReference;
  /** @default 0.25 of a core */
  readonly cpu?: number;
  /** @default "0.5Gi" */
  readonly memory?: string;
}

/** A container registry that takes no password. */
export interface RegistryReference {
  /** Its login server: `acme.azurecr.io`. */
  readonly server: string;
  /**
   * The resource's id. With it the identity gets `AcrPull` before anything is pulled.
   * @default - the identity that you pass may pull already
   */
  readonly id?: string;
}
