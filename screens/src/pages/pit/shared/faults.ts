// Lead the user to the first field of a form that has a fault.

export function focusFirstFault(form: HTMLFormElement): void {
  form.querySelector<HTMLElement>('[aria-invalid="true"]:not(:disabled)')?.focus();
}
