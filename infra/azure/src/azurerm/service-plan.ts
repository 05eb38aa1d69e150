import { ProviderResource } from "@leasehold/infra-terrain";
import type { Placed } from "./placed.ts";

export interface ServicePlanArguments extends Placed {
  readonly os_type: "Linux";
  readonly sku_name: "FC1";
}

export class ServicePlan extends ProviderResource<ServicePlanArguments> {
  static override readonly terraformType: string = "azurerm_service_plan";
}
