variable "resource_group" {
  description = "The resource group of the storage account"
  type        = object({ id = string, name = string, location = string })
}

variable "account_name" {
  description = "The storage account: 3 to 24 lower-case letters and digits, unique in the world"
  type        = string
}

variable "container_name" {
  type    = string
  default = "leases"
}

variable "delete_occurrences_after_days" {
  description = "The days after which occurrences of schedules are deleted, more than their retentionMs; null keeps them"
  type        = number
  default     = null
}

variable "candidates" {
  description = "The identities that compete, each with all of its elections, by any key"
  type        = map(object({ principal_id = string, elections = list(string) }))
  default     = {}

  validation {
    condition     = alltrue([for each in values(var.candidates) : length(each.elections) > 0])
    error_message = "Name the elections of each candidate."
  }

  # Other characters would have to be encoded as the store encodes them: use the construct for such names.
  validation {
    condition = alltrue([
      for election in flatten(values(var.candidates)[*].elections) : can(regex("^[A-Za-z0-9_-]{1,255}$", election))
    ])
    error_message = "An election has 1 to 255 letters, digits, hyphens and underscores."
  }
}
