import { Component } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import './page.js';

@Component({ selector: 'app-root', template: 'Angular' })
class App {}

bootstrapApplication(App);
