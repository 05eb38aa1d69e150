import { ProviderResource, ResourceProvider } from "@leasehold/infra-terrain";

/** Microsoft's own provider. It sends its arguments to Azure's resource manager unchanged. */
export class AzapiProvider extends ResourceProvider<AzapiProviderArguments> {
  static override readonly providerName: string = "azapi";
  static override readonly providerSource: string = "Azure/azapi";
  static override readonly versionConstraint: string = "~> 2.4";
}

export interface AzapiProviderArguments {
  readonly subscription_id?: string;
}

/** The parts of a Flex Consumption app: https://learn.microsoft.com/azure/templates/microsoft.web/2023-12-01/sites */
export interface WebSiteArguments {
  readonly type: "Microsoft.Web/sites@2023-12-01";
  readonly name: string;
  /** The resource group's id. */
  readonly parent_id: string;
  readonly location: string;
  readonly identity: { readonly type: "UserAssigned"; readonly identity_ids: readonly string[] };
  readonly body: {
    readonly kind: "functionapp,linux";
    readonly properties: {
      readonly serverFarmId: string;
      readonly httpsOnly: true;
      readonly functionAppConfig: {
        readonly deployment: {
          readonly storage: {
            readonly type: "blobContainer";
            /** The container's URL. */
            readonly value: string;
            readonly authentication: {
              readonly type: "UserAssignedIdentity";
              readonly userAssignedIdentityResourceId: string;
            };
          };
        };
        readonly scaleAndConcurrency: { readonly maximumInstanceCount: number; readonly instanceMemoryMB: number };
        readonly runtime: { readonly name: "node"; readonly version: string };
      };
      /** All settings of the app. Azure removes a setting that is not in this list. */
      readonly siteConfig: { readonly appSettings: readonly { readonly name: string; readonly value: string }[] };
    };
  };
}

export class WebSite extends ProviderResource<WebSiteArguments> {
  static override readonly terraformType: string = "azapi_resource";
}
